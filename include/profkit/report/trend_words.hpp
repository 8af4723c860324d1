// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "../analyze/summary.hpp"
#include "number_format.hpp"

namespace profkit::detail {

/// Such as "00:20:11"; two days are "48:00:00".
inline std::string format_clock(std::chrono::nanoseconds time) {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

/// A line about the step at which step times changed permanently; empty if there is no such step.
inline std::string level_change_text(run_trend_summary const& trend) {
  if (!trend.change) return {};
  level_change_summary const& change = *trend.change;
  return fmt::format("from step {} ({} UTC, {} into the run) steps take {} ms instead of {} ms ({} time, {})\n", change.step,
                     format_clock(change.time % std::chrono::hours{24}), format_clock(change.begin), format_ms(change.after),
                     format_ms(change.before), change.is_of_gpu ? "GPU" : "host",
                     change.p_value < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.1g}", change.p_value));
}

/// Whether there are enough steps for the section "Trend".
inline bool has_trend_windows(run_trend_summary const& trend) {
  std::uint64_t steps = 0;
  for (trend_window_summary const& each : trend.windows) steps += each.steps;
  constexpr std::uint64_t min_steps = 100;
  return steps >= min_steps;
}

}  // namespace profkit::detail
