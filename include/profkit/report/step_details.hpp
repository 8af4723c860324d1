// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "../analyze/summary.hpp"
#include "cells.hpp"
#include "coverage_text.hpp"
#include "document.hpp"
#include "number_format.hpp"
#include "trend_words.hpp"
#include "verdict_text.hpp"
#include "work_words.hpp"

// The details of the section "Steps" for each clock (host, CUDA events, GPU period).

namespace profkit::detail {

inline row clock_row(char const* clock, duration_summary const& times, verdict_summary const& verdict) {
  std::optional<milliseconds> const half = verdict.ci95_high ? std::optional{(*verdict.ci95_high - *verdict.ci95_low) / 2.0} : std::nullopt;
  row result;
  result.cells = {text_cell(clock), count_cell(times.count)};
  for (auto const& each : {times.mean, times.standard_deviation, times.min, times.median, times.p95, times.max, half, verdict.mad})
    result.cells.push_back(ms_cell(each, "too few steps"));
  result.cells.push_back(text_cell(verdict_name(verdict.verdict)));
  return result;
}

/// Host and GPU times of all measured steps: the content of `steps.csv`. Includes the GPU period if it is longer than the host time.
inline data_table step_table(summary const& all) {
  data_table result = folded_list("steps", "Steps by clock");
  result.columns = {{"measured steps"}, {"count", column_kind::count}};
  for (char const* const each : {"mean", "std", "min", "median", "p95", "max", "95 % +-", "MAD"})
    result.columns.push_back({each, column_kind::milliseconds});
  result.columns.push_back({"verdict"});
  step_summary const& steps = all.steps;
  result.rows.push_back(clock_row("host", steps.host, steps.host_verdict));
  if (steps.gpu) {
    result.rows.push_back(clock_row("GPU (CUDA events)", *steps.gpu, *steps.gpu_verdict));
  } else {
    result.rows.push_back(row_at(0, {text_cell("GPU (CUDA events)")}));
    result.rows.back().cells.resize(result.columns.size());
  }
  if (steps.gpu_period && steps.gpu_period->is_longer)
    result.rows.push_back(clock_row("GPU (kernels)", steps.gpu_period->time, steps.gpu_period->verdict));
  return result;
}

/// Which steps the statistics cover, and items per second.
inline std::string covered_steps_text(step_summary const& steps) {
  std::string text = fmt::format("{} warm-up steps excluded", steps.warmup);
  if (steps.excluded > 0) text += fmt::format(", and {} by the program (step.exclude())", steps.excluded);
  text += "; std is of the sample (n - 1)";
  if (steps.items_per_second)
    text += fmt::format("; {} {}/s by {}", format_count(steps.items_per_second), one_line(steps.item_name), steps.items_per_second_basis);
  return text + "\n";
}

/// Adds details about the times of the measured steps of all kinds.
inline void add_step_details(section& to, summary const& all) {
  add_notes(to, coverage_text(all), block_use::everywhere);
  data_table table = step_table(all);
  if (all.steps.host.count == 0) table.use = block_use::text;
  to.blocks.emplace_back(std::move(table));
  if (!all.quality.not_recorded.empty()) return;
  add_notes(to, covered_steps_text(all.steps) + run_ahead_text(all.steps) + model_text(all), block_use::text);
  if (all.covers_steps) add_notes(to, verdict_text(all) + level_change_text(all.trend), block_use::text);
}

}  // namespace profkit::detail
