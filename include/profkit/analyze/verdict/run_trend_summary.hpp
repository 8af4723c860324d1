// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../../profile/time.hpp"

namespace profkit {

/// Some neighbouring measured steps.
struct trend_window_summary {
  std::uint64_t first_step = 0;          ///< `step_record::index`
  std::chrono::nanoseconds begin{};      ///< of the first step, since the session began
  std::uint64_t steps = 0;               ///< measured ones
  milliseconds mean{};                   ///< host time of a step
  milliseconds p95{};                    ///< of the same, with a relative error of at most 1 %
  std::optional<double> gpu_busy_share;  ///< of the host time of the steps in which kernels were collected; n/a without such steps
  std::vector<std::optional<std::uint64_t>> memory_bytes;  ///< highest reading of each quantity in `run_trend_summary::memory`
};

/// The steps became slower or faster at one of them, and stayed so.
struct level_change_summary {
  std::uint64_t step = 0;            ///< `step_record::index` of the first one that is different
  std::chrono::nanoseconds time{};   ///< when it began, since 1970-01-01 00:00 UTC
  std::chrono::nanoseconds begin{};  ///< the same, since the session began
  milliseconds before{};             ///< mean step time up to there, since the change before it if there is one
  milliseconds after{};              ///< from there on
  double p_value = 1.0;              ///< how probable a change this large is at this step by chance
  bool is_of_gpu = false;            ///< the times are `gpu_period_summary`'s, else host times
};

/// The history of a run.
struct run_trend_summary {
  std::vector<std::string> memory;             ///< such as "host resident": source and quantity
  std::vector<trend_window_summary> windows;   ///< of equally many steps but for the last, at most 512; in the order of time
  std::optional<level_change_summary> change;  ///< the last one; n/a if there is none, or too few steps to tell
};

}  // namespace profkit
