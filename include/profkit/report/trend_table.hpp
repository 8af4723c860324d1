// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"
#include "table.hpp"

namespace profkit {

namespace detail {

/// Such as "00:20:11"; two days are "48:00:00".
inline std::string format_clock(std::chrono::nanoseconds time) {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace detail

/// @brief The step from which on step times changed permanently.
/// @param trend the history of the run.
/// @return a line; empty if there is no such step.
[[nodiscard]] inline std::string level_change_text(run_trend_summary const& trend) {
  if (!trend.change) return {};
  level_change_summary const& change = *trend.change;
  return fmt::format("from step {} ({} UTC, {} into the run) steps take {} ms instead of {} ms ({} time, {})\n", change.step,
                     detail::format_clock(change.time % std::chrono::hours{24}), detail::format_clock(change.begin),
                     detail::format_ms(change.after), detail::format_ms(change.before), change.is_of_gpu ? "GPU" : "host",
                     change.p_value < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.1g}", change.p_value));
}

/// @brief The note below the table.
inline constexpr char const* trend_note =
    "host time of the measured steps; p95: the highest of the row's windows, of which report.json has up to 512; GPU busy: share of that "
    "time\n";

/// @brief Whether there are enough steps for the table "Trend".
[[nodiscard]] inline bool has_trend_table(run_trend_summary const& trend) {
  std::uint64_t steps = 0;
  for (trend_window_summary const& each : trend.windows) steps += each.steps;
  constexpr std::uint64_t min_steps = 100;
  return steps >= min_steps;
}

/// @brief The history of the run in at most 10 rows; `report.json` has all windows. The p95 of a row is the maximum of its windows.
[[nodiscard]] inline table trend_table(run_trend_summary const& trend) {
  std::vector<std::string> headings{"first step", "begin", "steps", "mean ms", "p95 ms", "GPU busy"};
  for (std::string const& name : trend.memory) headings.push_back(detail::one_line(name) + " MiB");
  table result{headings, 0};
  constexpr std::size_t max_rows = 10;
  std::size_t const together = (trend.windows.size() + max_rows - 1) / max_rows;
  for (std::size_t first = 0; first < trend.windows.size(); first += together) {
    std::uint64_t steps = 0;
    milliseconds total{};
    milliseconds p95{};
    double busy = 0.0;
    bool has_gpu = true;
    std::vector<std::optional<std::uint64_t>> memory(trend.memory.size());
    for (std::size_t i = first; i < std::min(first + together, trend.windows.size()); ++i) {
      trend_window_summary const& each = trend.windows[i];
      steps += each.steps;
      total += each.mean * static_cast<double>(each.steps);
      p95 = std::max(p95, each.p95);
      has_gpu = has_gpu && each.gpu_busy_share;
      if (each.gpu_busy_share) busy += *each.gpu_busy_share * (each.mean * static_cast<double>(each.steps)).count();
      for (std::size_t k = 0; k < memory.size(); ++k) memory[k] = std::max(memory[k], each.memory_bytes[k]);
    }
    std::vector<std::string> row{fmt::format("{}", trend.windows[first].first_step),
                                 detail::format_clock(trend.windows[first].begin),
                                 fmt::format("{}", steps),
                                 detail::format_ms(total / static_cast<double>(steps)),
                                 detail::format_ms(p95),
                                 detail::format_share(has_gpu && total.count() > 0.0 ? std::optional{busy / total.count()} : std::nullopt)};
    for (auto const bytes : memory) row.push_back(detail::format_mib(bytes));
    result.add(row);
  }
  return result;
}

}  // namespace profkit
