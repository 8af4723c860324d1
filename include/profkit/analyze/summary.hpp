// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "memory/scope_memory_summary.hpp"
#include "verdict/run_trend_summary.hpp"
#include "verdict/verdict_summary.hpp"
#include "work/work_summary.hpp"

namespace profkit {

/// Statistics of durations. A figure that has too few samples to exist is n/a. The quantiles are linear between neighbours; those of steps
/// are exact, all others have a relative error of at most 1 % (`quantile_sketch`).
struct duration_summary {
  std::uint64_t count = 0;
  milliseconds total{};
  std::optional<milliseconds> mean;
  std::optional<milliseconds> standard_deviation;  ///< of the sample: divides by count - 1
  std::optional<milliseconds> min;
  std::optional<milliseconds> median;
  std::optional<milliseconds> p95;
  std::optional<milliseconds> p99;
  std::optional<milliseconds> max;
};

/// What the measured steps took on the devices, by the operations launched in them. The period of a step is the time from when all earlier
/// work has completed, and the step has begun, until its own work has completed. docs/step_budget.md has the definition.
struct gpu_period_summary {
  duration_summary time;              ///< of those measured steps in which kernels were collected, up to the last that launched something
  std::vector<milliseconds> samples;  ///< as `step_summary::host_samples`
  verdict_summary verdict;
  milliseconds host_mean{};  ///< host time of the same steps
  /// Than host time, by more than noise: the host runs ahead of the devices, and the period is what a step takes.
  bool is_longer = false;
  /// Steps that had begun on the host after the one whose work the devices completed; n/a if no step launched anything.
  std::optional<double> median_steps_ahead;
  std::optional<double> max_steps_ahead;
};

/// What a step takes: the longest of its mean times.
struct step_time_summary {
  milliseconds mean{};
  std::string basis;  ///< "host step time", "GPU step time" (between CUDA events) or "GPU step time (kernels)"
  step_verdict verdict = step_verdict::too_few;
};

/// The measured steps. Warm-up steps, and those that the program excluded (`step::exclude`), are counted and are in no other figure.
struct step_summary {
  std::uint64_t warmup = 0;
  std::uint64_t excluded = 0;
  duration_summary host;                ///< `host.count` is the number of measured steps
  std::optional<duration_summary> gpu;  ///< between CUDA events; n/a without a step timer
  /// In the order of the steps: one for each, or the means of 2, 4, 8, ... neighbouring steps where there are more than 65,536 steps.
  std::vector<milliseconds> host_samples;
  std::vector<milliseconds> gpu_samples;
  std::uint64_t items = 0;
  std::string item_name;
  std::optional<double> items_per_second;  ///< items of a step over `step_time`
  std::string items_per_second_basis;      ///< that of `step_time`
  verdict_summary host_verdict;
  std::optional<verdict_summary> gpu_verdict;    ///< n/a without a step timer
  std::vector<clock_summary> clocks;             ///< one for each device; empty where they were not read
  std::optional<stop_record> stop;               ///< n/a where the number of steps was fixed
  std::optional<gpu_period_summary> gpu_period;  ///< n/a where kernels were not collected, or no step launched anything
  std::optional<step_time_summary> step_time;    ///< n/a without measured steps
};

/// What the GPU did for some scopes: the operations (kernels, copies, memsets) launched in them or in any scope inside. What a CUDA graph
/// runs belongs to the scopes in which it was captured, as far as that is known.
struct gpu_work_summary {
  std::uint64_t operations = 0;
  std::uint64_t kernels = 0;                 ///< of the operations
  milliseconds kernel_time{};                ///< sum of the durations of the operations
  milliseconds kernel_self{};                ///< of those launched in the scopes themselves, not in a scope inside
  milliseconds busy{};                       ///< length of the union of the operations' intervals
  duration_summary span;                     ///< per scope that launched any: first start to last end; what Nsight Systems calls projected
  std::optional<milliseconds> latency_mean;  ///< from the start of the launching API call to the start of the operation; not in graphs
  std::optional<milliseconds> latency_p95;
};

/// Why no operation of any device ran at some moment of a step. What the thread did that launched the operation that ran next.
enum class idle_cause : std::uint8_t {
  launching = 0,        ///< it was in a launching call, or between two that follow each other closely: launch-bound
  host = 1,             ///< it was in none of these calls: host-bound
  synchronisation = 2,  ///< it was in a call that waits for the device
  copy = 3,             ///< it was in a call that copies or sets memory
  queued = 4,           ///< it had launched the operation, and the device had not begun with it
};
inline constexpr std::size_t idle_causes = 5;

/// Wall time of the measured steps in which no operation of any device ran, charged to the innermost scope that was open meanwhile on the
/// thread of the steps, or on another thread in a scope that works for one there (`adopting_scope`).
struct gpu_idle_summary {
  milliseconds inclusive{};  ///< charged to the scopes or to any scope inside
  milliseconds self{};       ///< charged to the scopes themselves
};

/// The sum of something in each measured step. A step in which it does not occur counts as 0.
struct per_step_figures {
  milliseconds mean{};
  std::optional<milliseconds> standard_deviation;  ///< of the sample: divides by the number of steps - 1; n/a with fewer than two
  std::optional<double> autocorrelation;           ///< of neighbouring steps, the plain estimate; n/a where the steps do not vary
};

/// What the scopes of one row took in each measured step.
struct scope_per_step {
  std::uint64_t steps = 0;
  per_step_figures host;
  std::optional<per_step_figures> gpu;  ///< of the operations launched in the scopes or inside them; n/a where kernels were not collected
  std::optional<milliseconds> host_copies;  ///< of the mean of `gpu`: copies from or to the host, whose times vary far more from run to run
  std::uint64_t gpu_steps = 0;              ///< that `gpu` is of: those in which kernels were collected
};

/// What one kernel took in each measured step.
struct kernel_per_step {
  std::uint64_t steps = 0;  ///< in which kernels were collected
  per_step_figures gpu;
};

/// One row of the tree of scopes: all scopes with the same path, of any thread.
struct scope_summary {
  std::string path;  ///< such as "step/forward/layer_3/attention"
  std::string name;  ///< such as "layer_3"
  std::uint32_t depth = 0;
  std::optional<std::size_t> parent;  ///< position in `summary::scopes`
  std::string source;                 ///< "file:line" of the first place that opened it
  duration_summary host;
  milliseconds host_self{};                    ///< `host.total` less that of its children
  std::optional<duration_summary> gpu_events;  ///< between CUDA events (`PROF_GPU_SCOPE`); n/a where none was timed
  std::optional<gpu_work_summary> gpu;         ///< n/a where kernels were not collected
  std::optional<gpu_idle_summary> gpu_idle;    ///< n/a where kernels were not collected, without steps, and for scopes of other threads
  std::optional<double> share_of_parent;       ///< of the parent's host total
  std::optional<double> share_of_steps;        ///< of the measured steps' host total
  std::vector<scope_memory_summary> memory;    ///< by allocator; empty where none was listened to, and without a scope in the measured time
  std::optional<work_summary> work{};          ///< n/a where neither the scopes nor any inside said what they have to do
  std::optional<scope_per_step> per_step{};    ///< n/a without steps
};

/// All scopes of one name, wherever they are in the tree. A scope inside another of its name does not count twice.
struct scope_name_summary {
  std::string name;
  duration_summary host;  ///< of the outermost scopes of that name; `host.count` counts all
  std::optional<gpu_work_summary> gpu;
  std::optional<gpu_idle_summary> gpu_idle;
  std::optional<work_summary> work{};
};

/// All runs of one kernel.
struct kernel_summary {
  std::string name;          ///< demangled
  std::string mangled;       ///< empty if it is `name`
  std::string kernel_class;  ///< such as "matmul"; see `kernel_class_of`
  duration_summary time;
  std::optional<double> share;                ///< of the time of all kernels, without copies and memsets
  std::optional<kernel_per_step> per_step{};  ///< n/a without steps
};

/// All kernels of one class.
struct kernel_class_summary {
  std::string name;
  std::uint64_t count = 0;
  milliseconds total{};
  std::optional<double> share;  ///< of the time of all kernels, without copies and memsets
};

/// All copies of one direction, or all memsets.
struct copy_summary {
  std::string name;  ///< such as "[CUDA memcpy Host-to-Device]"
  duration_summary time;
  std::uint64_t bytes = 0;
};

/// All calls of one function of the CUDA runtime or driver.
struct api_summary {
  std::string name;
  duration_summary time;
};

/// What the GPU did in the measured steps in which kernels were collected: all of them, or some (`PROFKIT=kernels=every:N`). An operation
/// counts in the step in which it was launched; one whose launch was not recorded, in the step in which it started.
struct gpu_summary {
  gpu_work_summary all;                       ///< self: outside any scope; spans: of the measured steps
  std::optional<gpu_idle_summary> idle;       ///< self: no scope was open on the thread of the steps; n/a without steps
  std::uint64_t unattributed_operations = 0;  ///< launched outside any scope, or the launch was not recorded
  std::uint64_t unattributed_kernels = 0;
  milliseconds unattributed_time{};
  std::uint64_t unknown_launches = 0;              ///< of the unattributed operations: the launching API call was not recorded
  std::uint64_t operations_of_graphs = 0;          ///< run by CUDA graphs
  std::uint64_t operations_of_unknown_graphs = 0;  ///< of them: their capture was not seen; charged to the scopes that launched the graphs
  std::vector<kernel_summary> kernels;             ///< by total time, longest first
  std::vector<kernel_class_summary> classes;       ///< by total time, longest first
  std::vector<copy_summary> copies;                ///< copies and memsets, by total time, longest first
  std::optional<std::vector<api_summary>> api;     ///< n/a unless all API calls were collected; by total time, longest first
  std::uint64_t steps = 0;                         ///< measured ones in which kernels were collected
};

/// What a step spent on one of its parts: a scope directly in the step, the step itself, or what other threads did.
struct budget_row {
  std::string part;                              ///< such as "forward"
  milliseconds busy{};                           ///< some operation of it ran; a moment in which several run counts for the first to begin
  std::array<milliseconds, idle_causes> idle{};  ///< by `idle_cause`: nothing ran on any device, and the host was here
  milliseconds total{};                          ///< of both
};

/// Work that can run beside other work.
struct hidden_work {
  milliseconds busy{};     ///< length of the union of its intervals
  milliseconds exposed{};  ///< of that: nothing else ran
};

/// The scopes of one name, without the index, for which the devices waited.
struct starving_scope {
  std::string name;
  milliseconds total{};  ///< idle time charged to the scopes themselves
  std::array<milliseconds, idle_causes> by_cause{};
};

/// Where the wall time of the measured steps in which kernels were collected went. Time between the steps is not in it. The steps are those
/// of the host, or of the devices where these take longer (`gpu_period_summary::is_longer`).
struct budget_summary {
  bool is_of_gpu = false;                ///< the latter
  milliseconds wall{};                   ///< sum of the steps; the rows' totals add up to it
  milliseconds busy{};                   ///< of the rows: some operation ran
  std::vector<budget_row> rows;          ///< in the order of the parts' first appearance; what was outside any scope is last
  milliseconds overlap{};                ///< the sum of the operations' durations less `busy`: what ran beside something else
  hidden_work copies;                    ///< copies and memsets
  hidden_work communication;             ///< kernels of the class
  std::vector<starving_scope> starving;  ///< longest first
  std::uint64_t steps = 0;
  bool has_launches = true;  ///< false: no launching call was recorded; launch-bound time is n/a, and counts as host-bound
};

/// What adopting scopes (`adopting_scope`) did for the scopes with one path, or with a path inside it, in one role. Their time is only that
/// outside of other adopting scopes in them, so that no work counts twice.
struct adopted_summary {
  std::string path;  ///< of the adopted scopes, such as "step/forward/layer_3"
  std::string name;  ///< such as "layer_3"
  std::uint32_t depth = 0;
  std::string role;  ///< such as "backward"; "backward of work in backward" where the work adopted was itself that of an adopting scope
  std::uint64_t count = 0;  ///< adopting scopes
  milliseconds host_total{};
  std::optional<milliseconds> own_host_total;  ///< of the adopted scopes; n/a where none of them is in the measured time
  std::optional<std::uint64_t> operations;  ///< launched in the adopting scopes; n/a, like what follows, where kernels were not collected
  std::optional<milliseconds> kernel_time;  ///< sum of their durations
  std::optional<milliseconds> busy;         ///< length of the union of their intervals
  std::optional<milliseconds> own_kernel_time;  ///< launched in the adopted scopes or inside them, but not in adopting ones there
  std::optional<double> kernel_ratio;           ///< `kernel_time` over `own_kernel_time`; n/a where that is 0
  std::optional<work_summary> work{};           ///< of the role "backward": what the adopted scopes said, times `work::backward`
};

/// One quantity of one memory source over the measured steps.
struct memory_summary {
  std::string source;
  std::string quantity;
  std::uint64_t samples = 0;
  std::uint64_t first_bytes = 0;  ///< at the end of the first measured step
  std::uint64_t last_bytes = 0;   ///< at the end of the last
  std::uint64_t highest_sample_bytes = 0;
  std::optional<std::uint64_t> peak_bytes;  ///< as the source itself keeps it
  std::string peak_note;                    ///< over what the source keeps its peak
};

/// The samples of one counter (`PROF_COUNTER`).
struct counter_summary {
  std::string name;
  std::uint64_t count = 0;
  double last = 0.0;  ///< in time
  double mean = 0.0;  ///< this, `min` and `max`: of the finite samples; NaN if there is none
  double min = 0.0;
  double max = 0.0;
  std::uint64_t not_finite = 0;  ///< samples that are NaN or infinite
};

/// What a profile comes to. It covers the measured steps, or the whole session where there was no step at all.
struct summary {
  environment_record environment;
  bool covers_steps = true;  ///< false: no step was made, everything below covers the whole session
  step_summary steps;
  std::vector<scope_summary> scopes;      ///< depth first, children in the order of their first appearance; the step first
  std::vector<scope_name_summary> names;  ///< in the order of the names' first rows in `scopes`
  std::optional<gpu_summary> gpu;         ///< n/a where kernels were not collected
  std::optional<budget_summary> budget;   ///< n/a there, too, and without steps
  std::vector<adopted_summary> adopted;   ///< in the order of the tree; empty where no scope adopted another
  limits_summary limits;
  std::optional<model_summary> model;  ///< n/a without steps, and where nothing said what a step needs
  std::vector<memory_summary> memory;
  std::vector<allocator_summary> allocators;  ///< in the order of `profile::allocators`; empty where none was listened to
  std::vector<counter_summary> counters;
  run_trend_summary trend;  ///< of the measured steps; empty without any
  std::vector<collector_record> collectors;
  quality_record quality;
  std::uint64_t scopes_recorded = 0;  ///< in the measured steps, of every thread
};

}  // namespace profkit
