// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Whether the warm-up of a series of steps was long enough.
enum class warmup_finding : std::uint8_t {
  unknown = 0,       ///< too few steps to tell
  enough = 1,        ///< the measured steps are of one kind
  too_short = 2,     ///< further steps at the beginning differ from the rest
  never_steady = 3,  ///< the steps changed in the second half of the series, which is not warm-up
  drifting = 4,      ///< the steps get longer or shorter throughout
};

/// @brief How the values of a series differ. Definitions: docs/statistics.md.
enum class series_shape : std::uint8_t {
  too_short = 0,   ///< fewer than 10 values: nothing is said
  even = 1,        ///< independent values of one kind
  correlated = 2,  ///< neighbours resemble each other
  mixed = 3,       ///< two kinds of values in random order, such as 1 in 50 that is 10 times as long
  levels = 4,      ///< two or more levels that last for several values each
  periodic = 5,    ///< the values repeat
  tailed = 6,      ///< a few values have much of the sum, and no two of them are alike
};

/// @brief How the times of the measured steps differ.
struct step_pattern {
  series_shape shape = series_shape::even;  ///< one of `mixed`, `levels`, `periodic`, `tailed`
  std::uint64_t others = 0;                 ///< number of steps that are not usual; 0 if they cannot be told apart
  std::uint64_t runs = 0;                   ///< number of uninterrupted sequences of them
  milliseconds usual{};                     ///< median of the usual steps
  milliseconds other{};                     ///< median of the others
  std::uint64_t period = 0;                 ///< in steps; 0 if they do not repeat
  detail::own_vector<std::uint64_t> first;  ///< `step_record::index` of at most three of them
  double moved = 0.0;                       ///< change of the mean by them, relative
};

/// @brief Whether the times of the measured steps are reliable. The first verdict that applies, in the order `throttled`, `too_few` with
/// fewer than 10 steps, `still_warming`, `drifting`, `uneven`, `noisy`, `too_few`, `stable`. Rules and error rates: docs/statistics.md.
enum class step_verdict : std::uint8_t {
  too_few = 0,        ///< no fault found, but too few measured steps for `stable`
  stable = 1,         ///< the mean is known to 1 %, and at most a tenth of the steps are outliers
  noisy = 2,          ///< the mean is not known to 1 %, or more than a tenth of the steps are outliers
  drifting = 3,       ///< the steps got longer or shorter during the measurement
  still_warming = 4,  ///< the first measured steps belong to the warm-up
  throttled = 5,      ///< a device reduced its clocks because of heat or power
  uneven = 6,         ///< the steps are not of one kind: see `step_pattern`
};

/// @brief The verdict on the times of the measured steps: host times, times between CUDA events, or GPU periods.
struct verdict_summary {
  step_verdict verdict = step_verdict::too_few;  ///< the verdict
  std::uint64_t measured = 0;                    ///< number of measured steps
  std::optional<milliseconds> mad;               ///< median absolute deviation; n/a without steps
  std::optional<milliseconds> ci95_low;          ///< lower end of the 95 % interval of the mean; n/a with fewer than two steps
  std::optional<milliseconds> ci95_high;         ///< upper end; n/a like the lower end, and so are the next two
  std::optional<double> relative_half_width;     ///< half-width of the interval relative to the mean
  std::optional<double> cautious_half_width;     ///< the same with a higher weight of slow changes, which fewer than 100 steps do not show
  std::optional<double> effective_samples;       ///< number of independent steps that give an interval of the same width
  std::uint64_t outliers = 0;                    ///< number of outliers; all figures include them
  std::optional<double> drift;          ///< from the first step to the last, relative to the median; n/a with fewer than four steps
  std::optional<double> drift_p_value;  ///< probability of a drift this large by chance
  bool has_drift = false;               ///< the drift is beyond chance, and there is no level change
  std::uint64_t warmup = 0;             ///< number of warm-up steps
  warmup_finding finding = warmup_finding::unknown;  ///< whether that was enough
  /// @brief `step_record::index` of the first steady step, which is also the sufficient number of warm-up steps. For `never_steady`, the
  /// index of the last change. n/a if `finding` is unknown, and for a warm-up that ends gradually.
  std::optional<std::uint64_t> steady_from;
  double change = 0.0;                  ///< change of the mean there, relative to the measured steps before; 0 if there is none
  std::optional<step_pattern> pattern;  ///< n/a if the steps are of one kind, or too few
};

/// @brief Clocks, power and temperature of one device, from readings after measured steps. Source: NVML.
struct clock_summary {
  std::int32_t device = 0;                   ///< device number
  std::uint64_t readings = 0;                ///< number of readings
  std::uint64_t throttled_readings = 0;      ///< number of readings that show throttling: see `is_throttled`
  std::uint32_t min_mhz = 0;                 ///< minimum SM clock as read
  double mean_mhz = 0.0;                     ///< mean SM clock as read
  std::uint32_t max_mhz = 0;                 ///< maximum SM clock as read
  std::uint32_t device_max_mhz = 0;          ///< maximum SM clock of the device
  std::uint64_t reasons = 0;                 ///< union of `device_clock_record::reasons`
  std::optional<double> mean_watt;           ///< n/a, like the next members, if the device does not report it
  std::optional<double> max_watt;            ///< maximum power draw
  std::optional<std::uint32_t> max_celsius;  ///< maximum temperature in degrees Celsius
};

/// @brief Statistics of durations. Figures without enough samples are n/a.
///
/// Quantiles interpolate linearly between neighbouring samples (definition 7 of Hyndman and Fan). Quantiles of steps are exact up to 65,536
/// steps; all others have a relative error of at most 1 % (`quantile_sketch`).
struct duration_summary {
  std::uint64_t count = 0;                         ///< number of samples
  milliseconds total{};                            ///< sum of the samples
  std::optional<milliseconds> mean;                ///< `total` / `count`
  std::optional<milliseconds> standard_deviation;  ///< sample standard deviation (n - 1)
  std::optional<milliseconds> min;                 ///< shortest sample
  std::optional<milliseconds> median;              ///< 50 % quantile
  std::optional<milliseconds> p95;                 ///< 95 % quantile
  std::optional<milliseconds> p99;                 ///< 99 % quantile
  std::optional<milliseconds> max;                 ///< longest sample
};

/// @brief The GPU period of the measured steps, from the operations launched in them.
///
/// The period of a step begins when the step has begun and all earlier work is complete, and ends when its own work is complete.
/// Definition: docs/step_budget.md.
struct gpu_period_summary {
  duration_summary time;  ///< over the measured steps with kernels collected, up to the last one that launched an operation
  detail::own_vector<milliseconds> samples;  ///< like `step_summary::host_samples`
  verdict_summary verdict;                   ///< the verdict on the periods
  milliseconds host_mean{};                  ///< mean host time of the same steps
  /// @brief The period is longer than the host time by more than noise: the host runs ahead of the devices, and the period is the step
  /// time.
  bool is_longer = false;
  /// @brief Number of later steps that had begun on the host when the work of a step completed; n/a if no step launched an operation.
  std::optional<double> median_steps_ahead;
  std::optional<double> max_steps_ahead;  ///< maximum of the same number
};

/// @brief The step time: the longest of its mean times.
struct step_time_summary {
  milliseconds mean{};                           ///< mean step time
  std::string basis;                             ///< "host step time", "GPU step time" (between CUDA events) or "GPU step time (kernels)"
  step_verdict verdict = step_verdict::too_few;  ///< the verdict on this time
};

/// @brief The measured steps. Warm-up steps and excluded steps (`step::exclude`) are counted; no other figure includes them.
struct step_summary {
  std::uint64_t warmup = 0;             ///< number of warm-up steps
  std::uint64_t excluded = 0;           ///< number of excluded steps
  duration_summary host;                ///< `host.count` is the number of measured steps
  std::optional<duration_summary> gpu;  ///< between CUDA events; n/a without a step timer
  /// @brief Step times in order: one per step, or with more than 65,536 steps the means of groups of 2, 4, 8, ... neighbouring steps.
  detail::own_vector<milliseconds> host_samples;
  detail::own_vector<milliseconds> gpu_samples;  ///< the same between CUDA events
  double items = 0.0;                            ///< sum of the items of the measured steps; exact up to 2^53
  std::string item_name;                         ///< `options::item_name`
  /// @brief Time between steps: from the end of a measured step to the beginning of the next one, if that is measured too. For a kind:
  /// before its steps. No other time of steps includes it.
  duration_summary between;
  std::optional<double> items_per_second;        ///< items per step divided by `loop_time`
  std::string items_per_second_basis;            ///< "wall time of the loop", or the basis of `step_time` if that is as long
  verdict_summary host_verdict;                  ///< the verdict on host times
  std::optional<verdict_summary> gpu_verdict;    ///< n/a without a step timer
  detail::own_vector<clock_summary> clocks;      ///< one per device; empty if clocks were not read
  std::optional<stop_record> stop;               ///< n/a for a fixed number of steps
  std::optional<gpu_period_summary> gpu_period;  ///< n/a if kernels were not collected, or no step launched an operation
  std::optional<step_time_summary> step_time;    ///< n/a without measured steps
};

/// @brief The mean wall time of the loop for a step: host time with the time between steps, or `step_summary::step_time` if that is longer,
/// because devices work between steps too.
/// @return 0 without `step_summary::step_time`.
[[nodiscard]] inline milliseconds loop_time(step_summary const& steps) noexcept {
  if (!steps.step_time) return {};
  milliseconds const loop = steps.host.mean.value_or(milliseconds{}) + steps.between.mean.value_or(milliseconds{});
  return loop < steps.step_time->mean ? steps.step_time->mean : loop;
}

/// @brief The name of `loop_time` as the basis of rates. @param steps must have a `step_summary::step_time`.
[[nodiscard]] inline std::string loop_time_basis(step_summary const& steps) {
  return loop_time(steps) > steps.step_time->mean ? "wall time of the loop" : steps.step_time->basis;
}

/// @brief Causes of GPU idle time: the activity of the thread that launched the next operation. Definition: docs/step_budget.md.
enum class idle_cause : std::uint8_t {
  launching = 0,        ///< in a launching call, or between two close launching calls: launch-bound
  host = 1,             ///< outside all of these calls: host-bound
  synchronisation = 2,  ///< in a call that waits for the device
  copy = 3,             ///< in a call that copies or sets memory
  queued = 4,           ///< the operation was launched, but the device had not started it
};
inline constexpr std::size_t idle_causes = 5;  ///< number of values of `idle_cause`

/// @brief The name of the last row of a budget: GPU work that was launched outside any scope.
inline constexpr char const* outside_any_scope = "outside any scope";

/// @brief One row of the step budget: a scope directly inside the step, the step itself, or work outside any scope.
struct budget_row {
  std::string part;     ///< such as "forward"
  milliseconds busy{};  ///< an operation of the part ran; if several run, the moment counts for the one that began first
  std::array<milliseconds, idle_causes> idle{};  ///< by `idle_cause`: no operation ran on any device, and the host was in this part
  milliseconds total{};                          ///< busy and idle time
};

/// @brief Work that overlap with other work can hide.
struct hidden_work {
  milliseconds busy{};     ///< length of the union of its intervals
  milliseconds exposed{};  ///< the part without any other operation
};

/// @brief The scopes with one name, without the index, for which the devices waited.
struct starving_scope {
  std::string name;                                  ///< such as "layer" for `layer_3`
  milliseconds total{};                              ///< idle time charged to the scopes themselves
  std::array<milliseconds, idle_causes> by_cause{};  ///< the same by `idle_cause`
};

/// @brief The step budget: the wall time of the measured steps with kernels collected, without the time between steps. Wall time is host
/// step time, or the GPU period if that is longer (`gpu_period_summary::is_longer`).
struct budget_summary {
  bool is_of_gpu = false;                       ///< wall time is the GPU period
  milliseconds wall{};                          ///< sum of the step times; the totals of the rows add up to it
  milliseconds busy{};                          ///< time with at least one running operation
  detail::own_vector<budget_row> rows;          ///< in the order of first appearance; work outside any scope comes last
  milliseconds overlap{};                       ///< sum of the durations of the operations minus `busy`
  hidden_work copies;                           ///< copies and memsets
  hidden_work communication;                    ///< kernels of the class `communication`
  detail::own_vector<starving_scope> starving;  ///< longest first
  std::uint64_t steps = 0;                      ///< number of steps
  bool has_launches = true;  ///< false: no launching call was recorded, so launch-bound time is n/a and counts as host-bound
};

/// @brief Times of one row of `summary::scopes` in the steps of one kind. All are sums over these steps; divide by
/// `step_kind_summary::steps` (host) or `budget_summary::steps` (GPU) for a mean per step.
///
/// Scope time is `busy` plus `idle`: each moment of `budget_summary::wall` counts once, in the innermost scope that it is charged to. So
/// the time of a scope is the sum of its `self` and the times of its children. The times of the roots and `step_kind_summary::outside` add
/// up to the wall time.
struct kind_scope_summary {
  std::size_t scope = 0;                  ///< position in `summary::scopes`
  std::uint64_t count = 0;                ///< number of scopes
  milliseconds host{};                    ///< host time
  milliseconds host_self{};               ///< the part outside the scopes directly inside them
  std::optional<milliseconds> busy;       ///< GPU busy time charged to the scopes or to scopes inside; n/a if kernels were not collected
  std::optional<milliseconds> busy_self;  ///< the part charged to the scopes themselves
  std::optional<milliseconds> idle;       ///< GPU idle time, like `busy`
  std::optional<milliseconds> idle_self;  ///< the part charged to the scopes themselves
};

/// @brief The executions of one kernel that were launched in one scope.
struct launch_place_summary {
  std::optional<std::size_t> scope;  ///< position in `summary::scopes`; n/a: outside any scope
  std::uint64_t count = 0;           ///< number of executions
  milliseconds total{};              ///< sum of their durations
};

/// @brief The executions of one kernel in the steps of one kind.
struct kind_kernel_summary {
  std::size_t kernel = 0;                                ///< position in `gpu_summary::kernels`
  std::uint64_t count = 0;                               ///< number of executions
  milliseconds total{};                                  ///< sum of their durations
  milliseconds min{};                                    ///< duration of the shortest
  milliseconds max{};                                    ///< duration of the longest
  detail::own_vector<launch_place_summary> launched_in;  ///< by total time, longest first
};

/// @brief The measured steps with the same set of parts. Parts are the scopes directly inside the step on its thread, without their
/// indices.
///
/// Statistics over steps of different kinds mislead: one validation step among 35 training steps turns 46.32 ms +- 0.1 % into 49.22 ms +-
/// 12.4 %. All steps without scopes inside are of one kind.
///
/// An analysis distinguishes the 16 kinds that occur first. Steps of further kinds count as one kind, "other".
struct step_kind_summary {
  std::string name;                       ///< "usual", "step 40", "9 steps with optimizer", "other"
  bool is_usual = false;                  ///< the kind has at least half of the measured steps; there may be no such kind
  detail::own_vector<std::string> parts;  ///< in the order of their first appearance; empty for "other"
  std::uint64_t steps = 0;                ///< number of measured steps of the kind
  std::uint64_t gpu_steps = 0;            ///< number of these steps with kernels collected
  /// @brief Times, verdicts and items of these steps alone. `step_time` has the same basis as in `summary::steps` if that was measured for
  /// the kind. Excludes warm-up, `clocks`, `stop` and the number of steps by which the host ran ahead: see `summary::steps`.
  step_summary times;
  std::optional<budget_summary> budget;           ///< its wall time has the basis of `summary::budget`; n/a if kernels were not collected
  detail::own_vector<kind_scope_summary> scopes;  ///< rows with a scope or with GPU time in these steps, in the order of `summary::scopes`
  std::optional<milliseconds> outside;            ///< part of `budget_summary::wall` that is charged to no scope; n/a without `budget`
  detail::own_vector<kind_kernel_summary> kernels;  ///< by total time, longest first; empty if kernels were not collected
};

/// @brief One step of `summary::listed_steps`.
///
/// The list has at most 4,096 measured steps, 1,024 warm-up steps and 1,024 excluded ones. If a session has more, or more than 65,536 steps
/// in all, the list has one of each 2, 4, 8, ... neighbouring steps, chosen at random.
struct listed_step {
  std::uint64_t index = 0;          ///< `step_record::index`
  bool is_warmup = false;           ///< excluded from all statistics
  bool is_excluded = false;         ///< `step::exclude`; excluded from all statistics
  std::optional<std::size_t> kind;  ///< position in `summary::kinds`; n/a for steps that are not measured
  milliseconds host{};              ///< host time
  std::optional<milliseconds> gpu;  ///< between CUDA events, else the GPU period; n/a if neither is known
};

}  // namespace PROFKIT_NAMESPACE
