// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"
#include "parts_table.hpp"
#include "ranks_findings.hpp"
#include "shown_ranks.hpp"

// The first sections of the report of many ranks: the ranks, and the budget of the step.

namespace profkit::detail {

/// Remarks about a rank.
inline std::string rank_remark(job_summary const& job, std::size_t rank) {
  if (holds_others_up(job, rank)) return "holds the others up: " + scope_words(job.straggler->path);
  if (job.slow_host && job.slow_host->rank == rank) return "slowest host: " + scope_words(job.slow_host->stage);
  return {};
}

inline row job_rank_row(job_rank_summary const& each, std::string remark) {
  row result;
  result.cells = {text_cell(name_words(each.name)),
                  number_cell(each.step.count()),
                  number_cell(each.compute.count()),
                  number_cell(each.exposed_transfer.count()),
                  each.exposed_waiting ? number_cell(each.exposed_waiting->count()) : missing_cell("shorter than the clocks can tell"),
                  number_cell(each.idle.count()),
                  number_cell(each.communication.count()),
                  number_cell(each.imposed.count()),
                  number_cell(each.last_share, "it is in no compared collective"),
                  number_cell(each.host_pace.count()),
                  bar({{colour::busy, 0, each.compute.count()},
                       {colour::transfer, 0, each.exposed_transfer.count()},
                       {colour::launch_bound, 0, each.exposed_waiting.value_or(milliseconds{}).count()},
                       {colour::queued, 0, each.idle.count()}}),
                  text_cell(std::move(remark))};
  return result;
}

/// The row with the means over all ranks.
inline row job_mean_row(job_summary const& job) {
  job_rank_summary to;
  auto const count = static_cast<double>(job.ranks.size());
  double last = 0.0;
  bool has_last = false;
  milliseconds waiting{};
  bool is_told = false;
  for (job_rank_summary const& each : job.ranks) {
    to.step += each.step / count;
    to.compute += each.compute / count;
    to.exposed_transfer += each.exposed_transfer / count;
    waiting += each.exposed_waiting.value_or(milliseconds{}) / count;
    is_told = is_told || each.exposed_waiting;
    to.idle += each.idle / count;
    to.communication += each.communication / count;
    to.imposed += each.imposed / count;
    to.host_pace += each.host_pace / count;
    last += each.last_share.value_or(0.0) / count;
    has_last = has_last || each.last_share;
  }
  to.name = "mean";
  if (has_last) to.last_share = last;
  if (is_told) to.exposed_waiting = waiting;
  row result = job_rank_row(to, {});
  result.is_total = true;
  return result;
}

inline section job_ranks_section(job_summary const& job) {
  section result;
  result.id = "ranks";
  result.title = "Ranks";
  auto const most =
      std::max_element(job.ranks.begin(), job.ranks.end(), [](auto const& a, auto const& b) { return a.imposed < b.imposed; });
  result.answer = fmt::format("{} held the others up most: {} a step ({} of the step).", capitalized(name_words(most->name)),
                              time_words(most->imposed), share_words(job.step.count() > 0.0 ? most->imposed / job.step : 0.0));
  if (job.missing_members > 0 && most->imposed.count() <= 0.0) result.answer = "Waits are unknown, because ranks have no usable file.";
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
      {"communication", column_kind::milliseconds, column_use::file, "Union of its collectives, beside computing or not"},
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
  auto const add = [&](std::size_t rank) { table.rows.push_back(job_rank_row(job.ranks[rank], rank_remark(job, rank))); };
  own_vector<std::size_t> const shown = shown_ranks(job);
  for (std::size_t const rank : shown) add(rank);
  table.rows.push_back(job_mean_row(job));
  constexpr std::size_t max_ranks = 1024;
  if (shown.size() < job.ranks.size()) {
    table.shown_rows = table.rows.size();
    for (std::size_t rank = 0; rank < std::min(job.ranks.size(), max_ranks); ++rank) {
      if (std::find(shown.begin(), shown.end(), rank) == shown.end()) add(rank);
    }
    table.folded_label = counted(job.ranks.size() - shown.size(), "more rank", "more ranks");
  }
  result.blocks.emplace_back(std::move(table));
  result.how_to_read = fmt::format(
      "Means per step. Compute, exposed transfer, exposed waiting and idle add up to the step. A rank is a straggler if its own work takes "
      "longer than that of the others in two halves of the steps, by more than chance and the differences between processes explain, and "
      "if "
      "the others wait for it for at least 3 times the clocks' bound ({}).",
      time_words(job.clocks.bound));
  return result;
}

/// A bar for each rank on one scale. The lane below it shows communication that overlaps computing and therefore costs no time.
inline lanes_figure job_rank_lanes(job_summary const& job) {
  lanes_figure result;
  result.has_thin_lower = true;
  for (std::size_t const rank : shown_ranks(job)) {
    job_rank_summary const& each = job.ranks[rank];
    milliseconds const waiting = each.exposed_waiting.value_or(milliseconds{});
    lanes_figure::row next;
    next.name = name_words(each.name);
    double at = 0.0;
    auto const add = [&](milliseconds time, colour meaning, char const* name) {
      if (time.count() > 0.0) next.upper.push_back({at, at + time.count(), meaning, name});
      at += time.count();
    };
    add(each.compute, colour::busy, "compute");
    add(each.exposed_transfer, colour::transfer, "exposed transfer");
    add(waiting, colour::launch_bound, "exposed waiting");
    add(each.idle, colour::queued, "idle");
    constexpr double min_shown = 0.001;
    double const hidden = (each.communication - each.exposed_transfer - waiting).count();
    if (hidden > min_shown * at) next.lower.push_back({0.0, hidden, colour::transfer, "communication beside computing"});
    result.total = std::max(result.total, at);
    result.rows.push_back(std::move(next));
  }
  if (std::any_of(result.rows.begin(), result.rows.end(), [](lanes_figure::row const& each) { return !each.lower.empty(); }))
    result.legend.push_back({{colour::transfer, 0, 0.0}, "thin line: communication beside computing, which costs nothing"});
  return result;
}

inline section job_budget_section(job_summary const& job) {
  section result;
  result.id = "budget";
  result.title = "Where the step went";
  result.answer = "The mean step of all ranks: ";
  bars_figure bars;
  stacked_bar whole;
  whole.title = "Mean step, " + time_words(job.step);
  static constexpr colour colours[] = {colour::busy, colour::transfer, colour::launch_bound, colour::queued};
  for (std::size_t i = 0; i < job.budget.size(); ++i) {
    job_part const& each = job.budget[i];
    double const share = job.step.count() > 0.0 ? each.time / job.step : 0.0;
    result.answer += fmt::format("{}{} {}", i > 0 ? ", " : "", share_words(share), each.name);
    bars.legend.push_back({{colours[i], 0, 0.0}, each.name});
    whole.parts.push_back({each.name, {{colours[i], 0, each.time.count()}}});
  }
  result.answer += ".";
  bars.bars.push_back(std::move(whole));
  result.blocks.emplace_back(figure{result.answer, std::move(bars)});
  result.blocks.emplace_back(
      figure{"The step of each rank; below it, communication beside computing, which costs nothing", job_rank_lanes(job)});
  result.blocks.emplace_back(parts_table(
      "job_budget", {{"part"}, {"time", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the step"}},
      job.budget, {"step", job.step}));
  return result;
}

}  // namespace profkit::detail
