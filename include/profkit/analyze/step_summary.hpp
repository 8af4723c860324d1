// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../profile/own_memory.hpp"
#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "verdict/verdict_summary.hpp"

namespace profkit {

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
  std::uint64_t items = 0;                       ///< sum of the items of the measured steps
  std::string item_name;                         ///< `options::item_name`
  std::optional<double> items_per_second;        ///< items per step divided by `step_time`
  std::string items_per_second_basis;            ///< the basis of `step_time`
  verdict_summary host_verdict;                  ///< the verdict on host times
  std::optional<verdict_summary> gpu_verdict;    ///< n/a without a step timer
  detail::own_vector<clock_summary> clocks;      ///< one per device; empty if clocks were not read
  std::optional<stop_record> stop;               ///< n/a for a fixed number of steps
  std::optional<gpu_period_summary> gpu_period;  ///< n/a if kernels were not collected, or no step launched an operation
  std::optional<step_time_summary> step_time;    ///< n/a without measured steps
};

}  // namespace profkit
