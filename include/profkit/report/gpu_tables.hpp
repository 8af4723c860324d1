// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"
#include "table.hpp"

namespace profkit {

namespace detail {

inline constexpr std::size_t kernels_shown = 20;
inline constexpr std::size_t kernel_name_width = 100;

/// Cells: operations; kernel, self, busy and span in ms.
inline std::vector<std::string> gpu_work_cells(std::optional<gpu_work_summary> const& work) {
  if (!work) return std::vector<std::string>(5, not_measured);
  return {fmt::format("{}", work->operations), format_ms(work->kernel_time), format_ms(work->kernel_self), format_ms(work->busy),
          format_ms(work->span.total)};
}

inline std::string idle_cell(std::optional<gpu_idle_summary> const& idle) { return idle ? format_ms(idle->inclusive) : not_measured; }

inline std::string idle_self_cell(std::optional<gpu_idle_summary> const& idle) { return idle ? format_ms(idle->self) : not_measured; }

/// Cells: name, count, total in ms; mean, median, min, max and std in microseconds.
inline std::vector<std::string> times_row(std::string name, duration_summary const& times) {
  return {std::move(name),         fmt::format("{}", times.count), format_ms(times.total), format_us(times.mean),
          format_us(times.median), format_us(times.min),           format_us(times.max),   format_us(times.standard_deviation)};
}

inline std::vector<std::string> times_headings(char const* first) {
  return {first, "count", "total ms", "mean us", "median us", "min us", "max us", "std us"};
}

inline std::vector<std::string> kernel_row(kernel_summary const& kernel, std::string name) {
  std::vector<std::string> cells = times_row(kernel.kernel_class, kernel.time);
  cells.push_back(format_share(kernel.share));
  cells.insert(cells.begin(), std::move(name));
  return cells;
}

inline table empty_kernel_table() {
  std::vector<std::string> headings = times_headings("class");
  headings.emplace_back("of all kernels");
  headings.insert(headings.begin(), "kernel");
  return table{std::move(headings), 2};
}

}  // namespace detail

/// @brief GPU work by scope, including inner scopes, in tree order. Times in milliseconds, latencies in microseconds.
/// @param summary the figures.
/// @return the table; empty if kernels were not collected.
[[nodiscard]] inline table gpu_scope_table(summary const& summary) {
  table result{{"scope", "operations", "kernel ms", "self ms", "busy ms", "span ms", "span p50 ms", "span p95 ms", "span p99 ms",
                "latency mean us", "latency p95 us", "idle ms", "idle self ms"}};
  for (scope_summary const& row : summary.scopes) {
    if (!row.gpu) continue;
    std::vector<std::string> cells = detail::gpu_work_cells(row.gpu);
    cells.insert(cells.begin(), std::string(std::size_t{2} * row.depth, ' ') + row.name);
    duration_summary const& span = row.gpu->span;
    cells.insert(cells.end(), {detail::format_ms(span.median), detail::format_ms(span.p95), detail::format_ms(span.p99),
                               detail::format_us(row.gpu->latency_mean), detail::format_us(row.gpu->latency_p95),
                               detail::idle_cell(row.gpu_idle), detail::idle_self_cell(row.gpu_idle)});
    result.add(std::move(cells));
  }
  return result;
}

/// @brief Host and GPU time by scope name, merged over the tree, in milliseconds.
/// @param summary the figures.
/// @return the table; its GPU columns are n/a if kernels were not collected.
[[nodiscard]] inline table name_table(summary const& summary) {
  table result{{"name", "count", "host total ms", "operations", "kernel ms", "self ms", "busy ms", "span ms", "idle ms"}};
  for (scope_name_summary const& row : summary.names) {
    std::vector<std::string> cells{row.name, fmt::format("{}", row.host.count), detail::format_ms(row.host.total)};
    std::vector<std::string> const work = detail::gpu_work_cells(row.gpu);
    cells.insert(cells.end(), work.begin(), work.end());
    cells.push_back(detail::idle_cell(row.gpu_idle));
    result.add(std::move(cells));
  }
  return result;
}

/// @brief All kernels with complete names: the content of `kernels.csv`.
/// @param gpu the figures.
/// @return a row per kernel.
[[nodiscard]] inline table kernel_table(gpu_summary const& gpu) {
  table result = detail::empty_kernel_table();
  for (kernel_summary const& row : gpu.kernels) result.add(detail::kernel_row(row, row.name));
  return result;
}

/// @brief The kernels with the longest total time, with names shortened for a terminal.
/// @param gpu the figures.
/// @return at most 20 rows.
[[nodiscard]] inline table top_kernel_table(gpu_summary const& gpu) {
  table result = detail::empty_kernel_table();
  for (std::size_t i = 0; i < std::min(gpu.kernels.size(), detail::kernels_shown); ++i) {
    result.add(detail::kernel_row(gpu.kernels[i], detail::shortened(gpu.kernels[i].name, detail::kernel_name_width)));
  }
  return result;
}

/// @brief Kernels by class.
/// @param gpu the figures.
/// @return a row per class.
[[nodiscard]] inline table class_table(gpu_summary const& gpu) {
  table result{{"class", "kernels", "total ms", "of all kernels"}};
  for (kernel_class_summary const& row : gpu.classes) {
    result.add({row.name, fmt::format("{}", row.count), detail::format_ms(row.total), detail::format_share(row.share)});
  }
  return result;
}

/// @brief Copies by direction, and memsets.
/// @param gpu the figures.
/// @return a row per direction, and one for memsets.
[[nodiscard]] inline table copy_table(gpu_summary const& gpu) {
  std::vector<std::string> headings = detail::times_headings("copy or memset");
  headings.emplace_back("MiB");
  table result{std::move(headings)};
  for (copy_summary const& row : gpu.copies) {
    std::vector<std::string> cells = detail::times_row(row.name, row.time);
    cells.push_back(detail::format_mib(row.bytes));
    result.add(std::move(cells));
  }
  return result;
}

/// @brief API calls by name.
/// @param gpu the figures.
/// @return the table; empty unless all API calls were collected.
[[nodiscard]] inline table api_table(gpu_summary const& gpu) {
  table result{detail::times_headings("API call")};
  if (!gpu.api) return result;
  for (api_summary const& row : *gpu.api) result.add(detail::times_row(row.name, row.time));
  return result;
}

/// @brief States in how many steps kernels were collected.
/// @param summary the figures.
/// @return such as "in 3 of 30 measured steps"; empty if kernels were collected in all steps or in none.
[[nodiscard]] inline std::string collected_steps_text(summary const& summary) {
  if (!summary.gpu || !summary.covers_steps || summary.gpu->steps == summary.steps.host.count) return {};
  return fmt::format("in {} of {} measured steps", summary.gpu->steps, summary.steps.host.count);
}

/// @brief The note below tables with GPU figures if kernels were collected in some steps only.
/// @param summary the figures.
/// @return a line, or nothing.
[[nodiscard]] inline std::string collected_steps_note(summary const& summary) {
  std::string const text = collected_steps_text(summary);
  return text.empty() ? text : "kernels were collected " + text + ": figures of operations, GPU and idle cover these steps\n";
}

/// @brief The note about GPU idle time below the table of scopes.
/// @param summary the figures.
/// @return a line.
[[nodiscard]] inline std::string idle_note(summary const& summary) {
  if (!summary.gpu || !summary.gpu->idle || summary.steps.host.count == 0) return "idle: n/a, no step was measured\n";
  gpu_idle_summary const& idle = *summary.gpu->idle;
  milliseconds const steps = summary.budget ? summary.budget->wall : summary.steps.host.total;
  std::string text = fmt::format("idle: no operation ran on any device for {} ms", detail::format_ms(idle.inclusive));
  if (steps.count() > 0.0) {
    bool const is_of_all = collected_steps_text(summary).empty();
    text += fmt::format(", {} of the {} steps' {} ms", detail::format_share(idle.inclusive / steps), is_of_all ? "measured" : "collected",
                        detail::format_ms(steps));
  }
  text += "; charged to the innermost scope of the step thread, or to a scope that adopted it on another thread";
  if (idle.self.count() > 0.0) text += fmt::format(", {} ms outside any scope", detail::format_ms(idle.self));
  return text + "\n";
}

/// @brief The note below the table of kernels: kernels not shown, and totals of all operations.
/// @param gpu the figures.
/// @return a line.
[[nodiscard]] inline std::string kernel_note(gpu_summary const& gpu) {
  std::string text;
  if (gpu.kernels.size() > detail::kernels_shown) {
    std::size_t const more = gpu.kernels.size() - detail::kernels_shown;
    milliseconds rest{};
    for (std::size_t i = detail::kernels_shown; i < gpu.kernels.size(); ++i) rest += gpu.kernels[i].time.total;
    text += fmt::format("and {} more with {} ms, in kernels.csv; ", more, detail::format_ms(rest));
  }
  return text + fmt::format("GPU: {} operations, {} of them kernels; {} ms in all, busy for {} ms\n", gpu.all.operations, gpu.all.kernels,
                            detail::format_ms(gpu.all.kernel_time), detail::format_ms(gpu.all.busy));
}

}  // namespace profkit
