// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "../../profile/own_memory.hpp"
#include "../../profile/time.hpp"

namespace profkit {

/// @brief A window of neighbouring measured steps.
struct trend_window_summary {
  std::uint64_t first_step = 0;      ///< `step_record::index` of the first step
  std::chrono::nanoseconds begin{};  ///< beginning of the first step, since the beginning of the session
  std::uint64_t steps = 0;           ///< number of measured steps
  milliseconds mean{};               ///< mean host time of a step
  milliseconds p95{};                ///< p95 of the host time, with a relative error of at most 1 %
  std::optional<double>
      gpu_busy_share;  ///< share of the host time with a running operation, in steps with kernels collected; n/a without such steps
  detail::own_vector<std::optional<std::uint64_t>> memory_bytes;  ///< maximum reading of each quantity in `run_trend_summary::memory`
};

/// @brief A level change: the step from which on step times differ permanently. Method: docs/statistics.md.
struct level_change_summary {
  std::uint64_t step = 0;            ///< `step_record::index` of the first different step
  std::chrono::nanoseconds time{};   ///< its beginning, since 1970-01-01 00:00 UTC
  std::chrono::nanoseconds begin{};  ///< its beginning, since the beginning of the session
  milliseconds before{};             ///< mean step time before, from the previous change if there is one
  milliseconds after{};              ///< mean step time from this step on
  double p_value = 1.0;              ///< probability of a change this large at this step by chance
  bool is_of_gpu = false;            ///< the times are GPU periods instead of host times
};

/// @brief The history of a run.
struct run_trend_summary {
  detail::own_vector<std::string> memory;            ///< quantities of `trend_window_summary::memory_bytes`, such as "host resident"
  detail::own_vector<trend_window_summary> windows;  ///< at most 512, in time order; equal numbers of steps except for the last
  std::optional<level_change_summary> change;        ///< the last level change; n/a if there is none or too few steps
};

}  // namespace profkit
