// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "../../summary.hpp"
#include "number_format.hpp"

namespace profkit {

/// @brief A progress line such as "00:20:11: 1234 steps measured; host step time 1.310 ms, p95 1.402 ms; GPU busy 93.0 %".
/// @param summary the figures so far.
/// @param elapsed time since the session began.
/// @return the line, without a line end.
[[nodiscard]] inline std::string status_line(summary const& summary, std::chrono::nanoseconds elapsed) {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
  std::string text = fmt::format("{:02}:{:02}:{:02}: ", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (!summary.covers_steps) return text + fmt::format("{} scopes recorded, no step made", summary.scopes_recorded);
  step_summary const& steps = summary.steps;
  text += fmt::format("{} steps measured", steps.host.count);
  if (steps.host.count == 0) return text + fmt::format(", {} warm-up steps made", steps.warmup);
  text += fmt::format("; host step time {} ms, p95 {} ms", detail::format_ms(steps.host.mean), detail::format_ms(steps.host.p95));
  if (summary.budget && summary.budget->wall.count() > 0.0)
    text += fmt::format("; GPU busy {:.1f} %", 100.0 * (summary.budget->busy / summary.budget->wall));
  return text;
}

}  // namespace profkit
