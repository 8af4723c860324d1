// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "report_view.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

// The section "Trend": how step times changed over a long run.

/// The smallest and the largest mean of the windows.
inline std::pair<milliseconds, milliseconds> range_of_means(run_trend_summary const& trend) {
  auto const [least, greatest] =
      std::minmax_element(trend.windows.begin(), trend.windows.end(),
                          [](trend_window_summary const& a, trend_window_summary const& b) { return a.mean < b.mean; });
  return {least->mean, greatest->mean};
}

/// The largest permanent change of the step time, or the range of the windows. @param trend must have windows.
inline std::string trend_answer(run_trend_summary const& trend) {
  if (trend.change) {
    level_change_summary const& change = *trend.change;
    return fmt::format("From step {} on, {} into the run, steps take {} instead of {} ({} time).", count_words(change.step),
                       format_clock(change.begin), time_words(change.after), time_words(change.before), change.is_of_gpu ? "GPU" : "host");
  }
  auto const [least, greatest] = range_of_means(trend);
  return fmt::format("No lasting change of the level: means of {} windows lie between {} and {}.", trend.windows.size(), time_words(least),
                     time_words(greatest));
}

/// Merges neighbouring windows into one. Its p95 is the highest p95 of the windows.
inline trend_window_summary merged_windows(own_vector<trend_window_summary> const& windows, std::size_t first, std::size_t end) {
  trend_window_summary result = windows[first];
  double busy = 0.0;
  double joules = 0.0;
  double known = 0.0;
  milliseconds total{};
  result.steps = 0;
  for (std::size_t i = first; i < end; ++i) {
    trend_window_summary const& each = windows[i];
    milliseconds const time = each.mean * static_cast<double>(each.steps);
    result.steps += each.steps;
    total += time;
    busy += each.gpu_busy_share.value_or(0.0) * time.count();
    result.p95 = std::max(result.p95, each.p95);
    if (!each.gpu_busy_share) result.gpu_busy_share.reset();
    joules += each.joules_per_step.value_or(0.0);
    if (each.joules_per_step) known += 1.0;
    for (std::size_t k = 0; k < std::min(result.memory_bytes.size(), each.memory_bytes.size()); ++k)
      result.memory_bytes[k] = std::max(result.memory_bytes[k], each.memory_bytes[k]);
  }
  if (known > 0.0) result.joules_per_step = joules / known;  // windows have about as many steps
  result.mean = total / static_cast<double>(std::max<std::uint64_t>(1, result.steps));
  if (result.gpu_busy_share) result.gpu_busy_share = total.count() > 0.0 ? std::optional{busy / total.count()} : std::nullopt;
  return result;
}

/// The history in at most 10 windows.
inline own_vector<trend_window_summary> few_windows(own_vector<trend_window_summary> const& windows) {
  constexpr std::size_t max_windows = 10;
  std::size_t const together = (windows.size() + max_windows - 1) / max_windows;
  own_vector<trend_window_summary> result;
  for (std::size_t first = 0; first < windows.size(); first += together)
    result.push_back(merged_windows(windows, first, std::min(first + together, windows.size())));
  return result;
}

/// A row for each window of steps.
inline data_table trend_rows(run_trend_summary const& trend, own_vector<trend_window_summary> const& windows) {
  data_table table{"trend"};
  table.add_columns({{"first step", column_kind::count},
                     {"begin"},
                     {"steps", column_kind::count},
                     {"mean", column_kind::milliseconds},
                     {"p95", column_kind::milliseconds, column_use::always, "relative error of at most 1 %"},
                     {"GPU busy", column_kind::share, column_use::always, "share of the host time with a running operation"},
                     {"J a step", column_kind::real, column_use::always, "by the first meter of energy"}});
  for (std::string const& name : trend.memory) table.columns.push_back({name, column_kind::bytes, column_use::wide, "highest reading"});
  for (trend_window_summary const& each : windows) {
    row& next = table.add_row().count(each.first_step).text(format_clock(each.begin)).count(each.steps).ms(each.mean).ms(each.p95);
    next.number(each.gpu_busy_share, "no kernels were collected in these steps");
    next.text_if(each.joules_per_step.has_value(), significant(each.joules_per_step.value_or(0.0)), "not known in these steps");
    for (std::size_t i = 0; i < trend.memory.size(); ++i)
      next.count(i < each.memory_bytes.size() ? each.memory_bytes[i] : std::nullopt, "not read in these steps");
  }
  table.drop_unknown_columns();
  table.use = block_use::text;
  return table;
}

/// Mean and p95 over the run.
inline lines_figure trend_lines(run_trend_summary const& trend) {
  lines_figure result{"measured step", "host time of a step"};
  lines_figure::line& mean = result.lines.emplace_back();
  mean.name = "mean";
  for (trend_window_summary const& each : trend.windows) {
    // the middle of the window
    mean.x.push_back(static_cast<double>(each.first_step) + 0.5 * static_cast<double>(each.steps));
    mean.y.push_back(each.mean.count());
  }
  lines_figure::line p95{"p95", mean.x};
  for (trend_window_summary const& each : trend.windows) p95.y.push_back(each.p95.count());
  result.lines.push_back(std::move(p95));
  return result;
}

/// @return n/a for a run that is too short to have a trend.
inline std::optional<section> trend_section(report_view const& view) {
  run_trend_summary const& trend = view.all.trend;
  if (trend.windows.size() < 2 || !has_trend_windows(trend)) return std::nullopt;
  section result{"trend", "Trend", trend_answer(trend)};
  result.add(figure{result.answer, trend_lines(trend)});
  result.add(trend_rows(trend, few_windows(trend.windows)));
  data_table all = trend_rows(trend, trend.windows);
  all.name = "trend_windows";
  all.use = block_use::pages;
  all.shown_rows = 0;
  all.folded_label = fmt::format("All {} windows as a table", trend.windows.size());
  result.add(std::move(all));
  result.how_to_read =
      "Each point is a window of neighbouring steps. A level change is a step from which on times differ permanently, with its probability "
      "under "
      "constant times: docs/statistics.md.";
  return result;
}

// The section "Energy": what the measured steps took.

/// "23.4 J", "11.4 mJ", "1.20 kJ".
inline std::string energy_words(double joules) {
  if (joules >= 999.5) return with_unit(joules / 1e3, "kJ");
  if (joules >= 0.9995 || joules <= 0.0) return with_unit(joules, "J");
  return joules >= 0.9995e-3 ? with_unit(joules * 1e3, "mJ") : with_unit(joules * 1e6, "\xc2\xb5J");
}

/// "GPU 0: 23.4 J a step (312 W), 11.4 mJ per item".
inline std::string meter_words(summary const& all, energy_summary const& meter) {
  std::string text =
      fmt::format("{}: {} a step ({})", one_line(meter.meter), energy_words(meter.joules_per_step), with_unit(meter.mean_watt, "W"));
  if (meter.joules_per_item)
    text += fmt::format(", {} per item ({})", energy_words(*meter.joules_per_item), name_words(all.steps.item_name));
  return text;
}

/// @return n/a if energy was not measured.
inline std::optional<section> energy_section(report_view const& view) {
  summary const& all = view.all;
  if (all.energy.empty()) return std::nullopt;
  section result{"energy", "Energy", meter_words(all, all.energy.front()) + "."};
  if (all.energy.size() > 1) result.answer += fmt::format(" {} more below.", counted(all.energy.size() - 1, "meter", "meters"));
  data_table table{"energy"};
  table.add_columns({{"meter"},
                     {"steps", column_kind::count},
                     {"J a step", column_kind::real},
                     {"min", column_kind::real, column_use::always, "the step with the least energy"},
                     {"max", column_kind::real, column_use::always, "the step with the most energy"},
                     {"J per item", column_kind::real},
                     {"W", column_kind::real, column_use::always, "mean power during the steps"},
                     {"changes every", column_kind::milliseconds, column_use::always, "time between two changes of the counter"}});
  for (energy_summary const& each : all.energy) {
    row& next = table.add_row().text(each.meter).count(each.steps).text(significant(each.joules_per_step));
    for (auto const& single : {each.min_joules, each.max_joules})
      next.text_if(single.has_value(), significant(single.value_or(0.0)), "a step is too short for the counter");
    next.text_if(each.joules_per_item.has_value(), fmt::format("{:.4g}", each.joules_per_item.value_or(0.0)), "no items");
    next.text(significant(each.mean_watt)).ms(each.resolution);
  }
  table.drop_unknown_columns();
  result.add(std::move(table));
  data_table scopes{"energy_scopes"};
  scopes.add_columns(
      {{"during the scope"}, {"meter"}, {"scopes", column_kind::count}, {"J each", column_kind::real}, {"W", column_kind::real}});
  for (energy_summary const& meter : all.energy) {
    for (energy_scope_summary const& each : meter.scopes)
      scopes.add_row().text(each.path).text(meter.meter).count(each.count).text(significant(each.joules)).text(significant(each.mean_watt));
  }
  bool const has_scopes = !scopes.rows.empty();
  result.add_unless_empty(std::move(scopes));
  result.add_note(fmt::format(
      "The counters cover the whole device or processor package and all programs on it, without the time between the steps. {}.",
      has_scopes ? "Scopes have a row if they take ten changes of a counter. A device may still do what was launched before the scope"
                 : "No scope takes ten changes of a counter, so the energy is not split by scope"));
  result.how_to_read =
      "Joules of the measured steps. Steps shorter than ten changes of a counter have a mean over the run only: docs/utilization.md.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
