// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "table.hpp"
#include "verdict_text.hpp"

namespace profkit {

namespace detail {

inline std::vector<std::string> step_row(char const* what, duration_summary const& times, verdict_summary const& verdict) {
  return {what,
          fmt::format("{}", times.count),
          format_ms(times.mean),
          format_ms(times.standard_deviation),
          format_ms(times.min),
          format_ms(times.median),
          format_ms(times.p95),
          format_ms(times.max),
          format_ms(verdict.ci95_high ? std::optional{(*verdict.ci95_high - *verdict.ci95_low) / 2.0} : std::nullopt),
          format_ms(verdict.mad),
          verdict_name(verdict.verdict)};
}

}  // namespace detail

/// @brief Host and GPU times of the measured steps, in milliseconds. Includes the GPU period if it is longer than the host time.
/// @param summary the figures.
/// @return a row per clock.
[[nodiscard]] inline table step_table(summary const& summary) {
  table result{
      {"measured steps", "count", "mean ms", "std ms", "min ms", "median ms", "p95 ms", "max ms", "95 % +- ms", "MAD ms", "verdict"}};
  result.add(detail::step_row("host", summary.steps.host, summary.steps.host_verdict));
  if (summary.steps.gpu) {
    result.add(detail::step_row("GPU (CUDA events)", *summary.steps.gpu, *summary.steps.gpu_verdict));
  } else {
    std::vector<std::string> row(result.columns(), detail::not_measured);
    row.front() = "GPU (CUDA events)";
    result.add(std::move(row));
  }
  if (summary.steps.gpu_period && summary.steps.gpu_period->is_longer) {
    result.add(detail::step_row("GPU (kernels)", summary.steps.gpu_period->time, summary.steps.gpu_period->verdict));
  }
  return result;
}

/// @brief Whether any scope was timed between CUDA events.
[[nodiscard]] inline bool has_gpu_events(summary const& summary) {
  return std::any_of(summary.scopes.begin(), summary.scopes.end(), [](scope_summary const& row) { return row.gpu_events.has_value(); });
}

/// @brief The tree of scopes with host time and GPU time between CUDA events, in milliseconds.
/// @param summary the figures.
/// @param with_gpu_events whether to include the columns of CUDA events.
/// @return a row per path, depth first.
[[nodiscard]] inline table scope_table(summary const& summary, bool with_gpu_events = true) {
  std::vector<std::string> headings{"scope",  "count",  "host total ms", "mean ms",   "std ms",  "p50 ms",
                                    "p95 ms", "p99 ms", "self ms",       "of parent", "of steps"};
  if (with_gpu_events) headings.insert(headings.end(), {"GPU total ms", "GPU mean ms", "GPU p50 ms", "GPU p95 ms", "GPU p99 ms"});
  table result{std::move(headings)};
  for (scope_summary const& row : summary.scopes) {
    std::vector<std::string> cells{std::string(std::size_t{2} * row.depth, ' ') + row.name,
                                   fmt::format("{}", row.host.count),
                                   detail::format_ms(row.host.total),
                                   detail::format_ms(row.host.mean),
                                   detail::format_ms(row.host.standard_deviation),
                                   detail::format_ms(row.host.median),
                                   detail::format_ms(row.host.p95),
                                   detail::format_ms(row.host.p99),
                                   detail::format_ms(row.host_self),
                                   detail::format_share(row.share_of_parent),
                                   detail::format_share(row.share_of_steps)};
    if (with_gpu_events) {
      duration_summary const gpu = row.gpu_events.value_or(duration_summary{});
      cells.push_back(row.gpu_events ? detail::format_ms(gpu.total) : detail::not_measured);
      for (std::optional<milliseconds> const each : {gpu.mean, gpu.median, gpu.p95, gpu.p99}) cells.push_back(detail::format_ms(each));
    }
    result.add(std::move(cells));
  }
  return result;
}

/// @brief Memory sources.
/// @param summary the figures.
/// @return a row per figure of each source.
[[nodiscard]] inline table memory_table(summary const& summary) {
  table result{{"memory", "samples", "first MiB", "last MiB", "highest sample MiB", "peak MiB", "peak over"}};
  for (memory_summary const& row : summary.memory) {
    result.add({row.source + " " + row.quantity, fmt::format("{}", row.samples), detail::format_mib(row.first_bytes),
                detail::format_mib(row.last_bytes), detail::format_mib(row.max_sample_bytes), detail::format_mib(row.peak_bytes),
                row.peak_bytes ? row.peak_note : "no peak kept"});
  }
  return result;
}

/// @brief Counters.
/// @param summary the figures.
/// @return a row per counter.
[[nodiscard]] inline table counter_table(summary const& summary) {
  table result{{"counter", "samples", "last", "mean", "min", "max", "not finite"}};
  for (counter_summary const& row : summary.counters) {
    result.add({row.name, fmt::format("{}", row.count), detail::format_real(row.last), detail::format_real(row.mean),
                detail::format_real(row.min), detail::format_real(row.max), fmt::format("{}", row.not_finite)});
  }
  return result;
}

}  // namespace profkit
