// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/ranks/job_summary.hpp"
#include "cells.hpp"
#include "document.hpp"
#include "ranks_findings.hpp"
#include "sentence_numbers.hpp"
#include "short_names.hpp"

// The sections of the report of many ranks.

namespace profkit::detail {

/// The ranks that a report shows first: all, or of more than 16 those that hold the others up most and those with the slowest hosts.
inline std::vector<std::size_t> shown_ranks(job_summary const& of) {
  constexpr std::size_t max_all = 16;
  constexpr std::size_t holding = 8;
  constexpr std::size_t slow = 4;
  std::vector<std::size_t> all(of.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= max_all) return all;
  std::vector<std::size_t> result;
  auto const take = [&](std::size_t count, auto const& value_of) {
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return value_of(of.ranks[a]) > value_of(of.ranks[b]); });
    for (std::size_t i = 0; i < count; ++i) {
      if (std::find(result.begin(), result.end(), all[i]) == result.end()) result.push_back(all[i]);
    }
  };
  take(holding, [](job_rank_summary const& each) { return each.imposed; });
  take(slow, [](job_rank_summary const& each) { return each.host_pace; });
  return result;
}

/// What is remarkable about a rank.
inline std::string rank_remark(job_summary const& of, std::size_t rank) {
  if (of.straggler && of.straggler->rank == rank) return "holds the others up: " + scope_words(of.straggler->path);
  if (of.slow_host && of.slow_host->rank == rank) return "slowest host: " + scope_words(of.slow_host->stage);
  return {};
}

inline row job_rank_row(job_summary const& of, std::size_t rank) {
  job_rank_summary const& each = of.ranks[rank];
  row result;
  result.cells = {text_cell(name_words(each.name)),
                  number_cell(each.step.count()),
                  number_cell(each.compute.count()),
                  number_cell(each.exposed_transfer.count()),
                  number_cell(each.exposed_waiting.count()),
                  number_cell(each.idle.count()),
                  number_cell(each.communication.count()),
                  number_cell(each.imposed.count()),
                  number_cell(each.last_share, "it is in no compared collective"),
                  number_cell(each.host_pace.count()),
                  bar({{colour::busy, 0, each.compute.count()},
                       {colour::transfer, 0, each.exposed_transfer.count()},
                       {colour::launch_bound, 0, each.exposed_waiting.count()},
                       {colour::queued, 0, each.idle.count()}}),
                  text_cell(rank_remark(of, rank))};
  return result;
}

/// A row of means, or of medians, of all ranks.
inline row job_mean_row(job_summary const& of) {
  job_summary mean;
  mean.ranks.push_back({});
  job_rank_summary& to = mean.ranks.front();
  auto const count = static_cast<double>(of.ranks.size());
  double last = 0.0;
  for (job_rank_summary const& each : of.ranks) {
    to.step += each.step / count;
    to.compute += each.compute / count;
    to.exposed_transfer += each.exposed_transfer / count;
    to.exposed_waiting += each.exposed_waiting / count;
    to.idle += each.idle / count;
    to.communication += each.communication / count;
    to.imposed += each.imposed / count;
    to.host_pace += each.host_pace / count;
    last += each.last_share.value_or(0.0) / count;
  }
  to.name = "mean";
  to.last_share = last;
  row result = job_rank_row(mean, 0);
  result.is_total = true;
  return result;
}

inline section job_ranks_section(job_summary const& of) {
  section result;
  result.id = "ranks";
  result.title = "Ranks";
  auto const most = std::max_element(of.ranks.begin(), of.ranks.end(), [](auto const& a, auto const& b) { return a.imposed < b.imposed; });
  result.answer = fmt::format("{} held the others up most: {} a step ({} of the step).", capitalized(name_words(most->name)),
                              time_words(most->imposed), share_words(of.step.count() > 0.0 ? most->imposed / of.step : 0.0));
  data_table table;
  table.name = "ranks";
  table.columns = {
      {"rank"},
      text_headed({"step", column_kind::milliseconds, column_use::always,
                   "From the first GPU operation of a step to that of the next; without GPU work on the host"},
                  "step"),
      legend_column("compute", "compute", colour::busy, "Time with a GPU operation that is not a collective"),
      legend_column("exposed transfer", "transfer", colour::transfer, "Collectives with nothing beside them, after the last rank arrived"),
      legend_column("exposed waiting", "waiting", colour::launch_bound,
                    "Collectives with nothing beside them, before the last rank arrived"),
      legend_column("idle", "idle", colour::queued, "No GPU operation runs"),
      {"communication", column_kind::milliseconds, column_use::wide, "Union of its collectives, beside computing or not"},
      text_headed({"held others up", column_kind::milliseconds, column_use::always,
                   "Mean waiting of the other ranks where it arrived last, summed over the collectives of a step"},
                  "held up"),
      text_headed({"came last", column_kind::share, column_use::always,
                   "Share of the collectives where it arrived last by more than the clocks' bound"},
                  "last %"),
      text_headed({"host pace", column_kind::milliseconds, column_use::always,
                   "Lower quartile of the host time of its steps, because a full launch queue makes the mean that of the GPU"},
                  "host"),
      {"of the step", column_kind::bar},
      {"remark"}};
  std::vector<std::size_t> const shown = shown_ranks(of);
  for (std::size_t const rank : shown) table.rows.push_back(job_rank_row(of, rank));
  table.rows.push_back(job_mean_row(of));
  constexpr std::size_t max_ranks = 1024;
  if (shown.size() < of.ranks.size()) {
    table.shown_rows = table.rows.size();
    for (std::size_t rank = 0; rank < std::min(of.ranks.size(), max_ranks); ++rank) {
      if (std::find(shown.begin(), shown.end(), rank) == shown.end()) table.rows.push_back(job_rank_row(of, rank));
    }
    table.folded_label = counted(of.ranks.size() - shown.size(), "more rank", "more ranks");
  }
  result.blocks.emplace_back(std::move(table));
  result.how_to_read = fmt::format(
      "Means per step. Compute, exposed transfer, exposed waiting and idle add up to the step. A rank is a straggler if it holds the "
      "others up for at least 2 % of the step ({}) and 3 times the clocks' bound ({}), at least twice as long as the others do on average, "
      "and not by chance (4 standard errors).",
      time_words(of.step * 0.02), time_words(of.clocks.bound));
  return result;
}

inline section job_budget_section(job_summary const& of) {
  section result;
  result.id = "budget";
  result.title = "Where the step went";
  result.answer = "The mean step of all ranks: ";
  data_table table;
  table.name = "job_budget";
  table.columns = {{"part"}, {"time", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the step"}};
  stacked_bar whole;
  whole.title = "Mean step, " + time_words(of.step);
  static constexpr colour colours[] = {colour::busy, colour::transfer, colour::launch_bound, colour::queued};
  for (std::size_t i = 0; i < of.budget.size(); ++i) {
    job_part const& each = of.budget[i];
    double const share = of.step.count() > 0.0 ? each.time / of.step : 0.0;
    result.answer += fmt::format("{}{} {}", i > 0 ? ", " : "", share_words(share), each.name);
    row next;
    next.cells = {text_cell(each.name), number_cell(each.time.count()), number_cell(share)};
    table.rows.push_back(std::move(next));
    whole.parts.push_back({each.name, {{colours[i], 0, each.time.count()}}});
  }
  result.answer += ".";
  row total;
  total.cells = {text_cell("step"), number_cell(of.step.count()), number_cell(1.0)};
  total.is_total = true;
  table.rows.push_back(std::move(total));
  bars_figure bars;
  bars.bars.push_back(std::move(whole));
  bars.legend = {{{colour::busy, 0, 0.0}, "compute"},
                 {{colour::transfer, 0, 0.0}, "exposed transfer"},
                 {{colour::launch_bound, 0, 0.0}, "exposed waiting"},
                 {{colour::queued, 0, 0.0}, "idle"}};
  result.blocks.emplace_back(figure{result.answer, std::move(bars)});
  result.blocks.emplace_back(std::move(table));
  return result;
}

/// The map of a value of each rank in each step: at most 24 ranks; beyond 50 steps, columns are the maxima of neighbouring steps.
inline heat_figure heat_of(job_summary const& of, job_map const& from, std::string title, double high, colour meaning) {
  heat_figure result;
  result.title = std::move(title);
  result.high = high;
  result.meaning = meaning;
  constexpr std::size_t max_columns = 50;
  std::size_t const each = (from.steps.size() + max_columns - 1) / max_columns;
  for (std::size_t i = 0; i < from.steps.size(); i += std::max<std::size_t>(each, 1)) {
    result.columns.push_back(fmt::format("{}", from.steps[i]));
    result.is_dashed.push_back(!from.is_measured[i]);
  }
  constexpr std::size_t max_all = 64;
  std::vector<std::size_t> ranks = shown_ranks(of);
  if (of.ranks.size() <= max_all) {
    ranks.resize(of.ranks.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  }
  for (std::size_t const rank : ranks) {
    result.rows.push_back(name_words(of.ranks[rank].name));
    std::vector<std::optional<double>> values(result.columns.size());
    for (std::size_t i = 0; i < from.steps.size(); ++i) {
      std::optional<double> const value = from.values[rank][i];
      std::optional<double>& to = values[i / std::max<std::size_t>(each, 1)];
      if (value && (!to || *value > *to)) to = value;
    }
    result.values.push_back(std::move(values));
  }
  return result;
}

inline section job_map_section(job_summary const& of) {
  section result;
  result.id = "steps";
  result.title = "Rank \xc3\x97 step";
  double most = 0.0;
  std::size_t rank = 0;
  std::size_t step = 0;
  for (std::size_t i = 0; i < of.held.values.size(); ++i) {
    for (std::size_t k = 0; k < of.held.steps.size(); ++k) {
      double const value = of.held.values[i][k].value_or(0.0);
      if (!of.held.is_measured[k] || value <= most) continue;
      most = value;
      rank = i;
      step = k;
    }
  }
  result.answer = most > 0.0 ? fmt::format("The longest wait in a measured step: {} for {} in step {}.", time_words(milliseconds{most}),
                                           name_words(of.ranks[rank].name), of.held.steps[step])
                             : std::string{"No rank made the others wait in a measured step."};
  constexpr double full = 0.1;  // of the step
  result.blocks.emplace_back(figure{
      result.answer, heat_of(of, of.held, "How long the rank made the others wait, ms", full * of.step.count(), colour::launch_bound)});
  result.blocks.emplace_back(
      figure{"Host time of the steps", heat_of(of, of.host_steps, "Host time of the step, ms", of.step.count(), colour::busy)});
  result.how_to_read = fmt::format(
      "Darkest from {} (10 % of the step) above and from {} (the step) below; empty under a tenth of that. Warm-up steps have a dashed "
      "border.",
      time_words(of.step * full), time_words(of.step));
  return result;
}

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
                  each.bus_bandwidth ? number_cell(std::round(*each.bus_bandwidth * 1e-8) / 10.0) : missing_cell("size or factor unknown"),
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
  auto const name = [](job_part const& of_part) { return of_part.name.empty() ? std::string{"the rest"} : scope_words(of_part.name); };
  result.answer = fmt::format("{} adds most to the longest host step: {}.", capitalized(name(*largest)), part_words(largest->time, whole));
  data_table table;
  table.name = "stages";
  table.columns = {
      {"stage"}, {"adds", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the longest host step"}};
  for (job_part const& each : of.frontier) {
    row next;
    next.cells = {text_cell(name(each)), number_cell(each.time.count()), number_cell(whole.count() > 0.0 ? each.time / whole : 0.0)};
    table.rows.push_back(std::move(next));
  }
  row total;
  total.cells = {text_cell("longest host step"), number_cell(whole.count()), number_cell(1.0)};
  total.is_total = true;
  table.rows.push_back(std::move(total));
  result.blocks.emplace_back(std::move(table));
  result.how_to_read =
      "For each stage, the time until its end on the slowest rank, minus that of the stage before. It needs no common clock. Where hosts "
      "run "
      "ahead of their GPUs, a stage can add to the host's step and cost the job nothing.";
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
  if (of.clocks.collectives == 0) {
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
