// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/ranks/job_summary.hpp"
#include "cells.hpp"
#include "document.hpp"
#include "parts_table.hpp"
#include "ranks_findings.hpp"
#include "sentence_numbers.hpp"
#include "short_names.hpp"

// The further sections of the report of many ranks: collectives, stages and data quality.

namespace profkit::detail {

inline section job_collectives_section(job_summary const& of) {
  section result;
  result.id = "collectives";
  result.title = "Collectives";
  double count = 0.0;
  milliseconds exposed{};
  for (job_collective_summary const& each : of.collectives) {
    count += each.per_step;
    exposed += each.exposed;
  }
  result.answer = fmt::format("{:.3g} collectives a step, {} of them with nothing beside them.", count, time_words(exposed));
  data_table table;
  table.name = "collectives";
  table.columns = {
      {"collective"},
      {"scope", column_kind::text, column_use::wide},
      {"a step", column_kind::count},
      {"size", column_kind::bytes},
      {"ranks", column_kind::count},
      {"transfer", column_kind::duration, column_use::always, "From the start of the last rank to the end, mean over the ranks"},
      {"waiting", column_kind::duration, column_use::always, "Until the last rank starts, mean over the ranks"},
      text_headed({"bus GB/s", column_kind::real, column_use::always,
                   "Size over transfer times the factor of nccl-tests: 2(n-1)/n for an all-reduce of n ranks"},
                  "bus GB/s"),
      text_headed({"exposed a step", column_kind::milliseconds, column_use::always, "With nothing beside it, mean per rank"}, "exposed {}"),
      text_headed({"most often last"}, "last")};
  constexpr std::size_t max_rows = 200;
  for (job_collective_summary const& each : of.collectives) {
    if (table.rows.size() == max_rows) break;
    std::string name = each.function;
    for (std::string const* const word : {&each.datatype, &each.algorithm, &each.protocol})
      name += word->empty() ? "" : " " + (word->rfind("nccl", 0) == 0 ? word->substr(4) : *word);
    row next;
    next.cells = {text_cell(name_words(name)),
                  text_cell(each.path.empty() ? "outside any scope" : name_words(each.path)),
                  number_cell(each.per_step),
                  each.bytes > 0 ? number_cell(static_cast<double>(each.bytes)) : missing_cell("the size was not recorded"),
                  count_cell(each.ranks),
                  number_cell(each.transfer.count()),
                  each.waiting < of.clocks.bound ? missing_cell("shorter than the clocks can tell") : number_cell(each.waiting.count()),
                  each.bus_bandwidth ? number_cell(std::round(*each.bus_bandwidth * 1e-8) / 10.0)
                                     : missing_cell("size or factor unknown, or started before its scope"),
                  number_cell(each.exposed.count()),
                  each.last ? text_cell(fmt::format("rank {}", *each.last)) : missing_cell("the clocks cannot tell")};
    table.rows.push_back(std::move(next));
  }
  constexpr std::size_t shown = 15;
  table.shown_rows = shown;
  if (table.rows.size() > shown) table.folded_label = counted(table.rows.size() - shown, "more collective", "more collectives");
  result.blocks.emplace_back(std::move(table));
  return result;
}

inline section job_stages_section(job_summary const& of) {
  section result;
  result.id = "stages";
  result.title = "Host time by stage";
  milliseconds whole{};
  for (job_part const& each : of.frontier) whole += each.time;
  auto const largest =
      std::max_element(of.frontier.begin(), of.frontier.end(), [](job_part const& a, job_part const& b) { return a.time < b.time; });
  if (largest == of.frontier.end()) return result;
  std::vector<job_part> stages = of.frontier;
  for (job_part& each : stages) each.name = each.name.empty() ? std::string{"the rest"} : scope_words(each.name);
  std::string const& most = stages[static_cast<std::size_t>(largest - of.frontier.begin())].name;
  result.answer = fmt::format("{} adds most to the longest host step: {}.", capitalized(most), part_words(largest->time, whole));
  result.blocks.emplace_back(parts_table(
      "stages",
      {{"stage"}, {"adds", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the longest host step"}},
      stages, {"longest host step", whole}));
  result.how_to_read =
      "For each stage, the time until its end on the slowest rank, minus that of the stage before. It needs no common clock. Where hosts "
      "run ahead of their GPUs, a stage can add to the host's step and cost the job nothing.";
  return result;
}

inline section job_quality_section(job_summary const& of) {
  section result;
  result.id = "quality";
  result.title = "Data quality";
  result.answer = fmt::format("{} of {} ranks, {} matched", of.ranks.size(), std::max<std::uint64_t>(of.ranks_expected, of.ranks.size()),
                              counted(of.matched, "collective", "collectives"));
  if (of.incomplete > 0) result.answer += fmt::format(", {} missing on a rank", count_words(of.incomplete));
  if (of.contradictory > 0) result.answer += fmt::format(", {} with other sizes or types on a rank", count_words(of.contradictory));
  result.answer += ".";
  if (of.clocks.is_one_clock) {
    result.blocks.emplace_back(note{"Clocks: all times are of the clock of one machine.", true});
  } else if (of.clocks.collectives == 0) {
    result.blocks.emplace_back(note{"Clocks: no collective that ends on all ranks at once; times are compared as they are.", true});
  } else {
    double low = 0.0;
    double high = 0.0;
    for (job_rank_summary const& each : of.ranks) {
      low = std::min(low, each.clock_offset.count());
      high = std::max(high, each.clock_offset.count());
    }
    result.blocks.emplace_back(
        note{fmt::format(
                 "Clocks: ranks were off by {} to {}{}, corrected by the ends of {}; left: {} (median), {} (95 %). Waits below {} are n/a.",
                 time_words(milliseconds{low}), time_words(milliseconds{high}), of.clocks.has_many_hosts ? " and drifted" : "",
                 counted(of.clocks.collectives, "collective", "collectives"), time_words(of.clocks.residual_median),
                 time_words(of.clocks.residual_p95), time_words(of.clocks.bound)),
             true});
  }
  for (std::string const& each : of.problems) result.blocks.emplace_back(note{capitalized(each) + ".", true});
  for (std::string const& each : of.differences) result.blocks.emplace_back(note{"Differs: " + each + ".", true});
  return result;
}

}  // namespace profkit::detail
