// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "job_summary.hpp"
#include "parts_table.hpp"
#include "rank_figures.hpp"
#include "ranks_findings.hpp"
#include "shown_ranks.hpp"

// The first sections of the report of many ranks: the ranks, and the budget of the step.

namespace PROFKIT_NAMESPACE::detail {

/// Remarks about a rank.
inline std::string rank_remark(job_summary const& job, std::size_t rank) {
  if (holds_others_up(job, rank)) return "holds the others up: " + scope_words(job.straggler->path);
  if (job.slow_host && job.slow_host->rank == rank) return "slowest host: " + scope_words(job.slow_host->stage);
  return {};
}

inline row& add_rank_row(data_table& to, job_rank_summary const& each, std::string_view remark) {
  row& next = to.add_row().text(name_words(each.name)).ms(each.step).ms(each.compute).ms(each.exposed_transfer);
  next.ms(each.exposed_waiting, "shorter than the clocks can tell").ms(each.idle).ms(each.communication).ms(each.imposed);
  next.number(each.last_share, "it is in no compared collective").ms(each.host_pace);
  next.bar({{colour::busy, 0, each.compute.count()},
            {colour::transfer, 0, each.exposed_transfer.count()},
            {colour::launch_bound, 0, each.exposed_waiting.value_or(milliseconds{}).count()},
            {colour::queued, 0, each.idle.count()}});
  return next.text(remark);
}

/// Adds the row with the means over all ranks.
inline void add_mean_row(data_table& table, job_summary const& job) {
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
  add_rank_row(table, to, {}).is_total = true;
}

inline section job_ranks_section(job_summary const& job) {
  section result{"ranks", "Ranks"};
  auto const most =
      std::max_element(job.ranks.begin(), job.ranks.end(), [](auto const& a, auto const& b) { return a.imposed < b.imposed; });
  result.answer = fmt::format("{} held the others up most: {} a step ({} of the step).", capitalized(name_words(most->name)),
                              time_words(most->imposed), share_words(job.step.count() > 0.0 ? most->imposed / job.step : 0.0));
  if (job.missing_members > 0 && most->imposed.count() <= 0.0) result.answer = "Waits are unknown, because ranks have no usable file.";
  constexpr column_kind ms = column_kind::milliseconds;
  constexpr column_use always = column_use::always;
  data_table table{"ranks"};
  table.add_columns(
      {{"rank"},
       {"step", ms, always, "From the first GPU operation of a step to that of the next; without GPU work on the host", "step"},
       {is_on_host(job) ? outside_communication : "compute", ms, always,
        is_on_host(job) ? "Host time outside collectives and messages" : "Time with a GPU operation that is not a collective",
        is_on_host(job) ? "outside" : "compute", colour::busy},
       {"exposed transfer", ms, always, "Collectives with nothing beside them, after the last rank arrived", "transfer", colour::transfer},
       {"exposed waiting", ms, always, "Collectives with nothing beside them, before the last rank arrived", "waiting",
        colour::launch_bound},
       {"idle", ms, always, "No GPU operation runs", "idle", colour::queued},
       {"communication", ms, column_use::file, "Union of its collectives, beside computing or not"},
       {"held others up", ms, always, "Mean waiting of the other ranks where it arrived last, summed over the collectives of a step",
        "held up"},
       {"came last", column_kind::share, always, "Share of the collectives where it arrived last by more than the clocks' bound", "last %"},
       {"host pace", ms, always, "Lower quartile of the host time of its steps, because a full launch queue makes the mean that of the GPU",
        "host"},
       {"of the step", column_kind::bar},
       {"remark"}});
  auto const add = [&](std::size_t rank) { add_rank_row(table, job.ranks[rank], rank_remark(job, rank)); };
  own_vector<std::size_t> const shown = shown_ranks(job);
  for (std::size_t const rank : shown) add(rank);
  add_mean_row(table, job);
  constexpr std::size_t max_ranks = 1024;
  if (shown.size() < job.ranks.size()) {
    table.shown_rows = table.rows.size();
    for (std::size_t rank = 0; rank < std::min(job.ranks.size(), max_ranks); ++rank) {
      if (std::find(shown.begin(), shown.end(), rank) == shown.end()) add(rank);
    }
    table.folded_label = counted(job.ranks.size() - shown.size(), "more rank", "more ranks");
  }
  table.drop_unknown_columns();
  result.add(std::move(table));
  result.how_to_read = fmt::format(
      "Means per step. Compute, exposed transfer, exposed waiting and idle add up to the step. A rank is a straggler if its own work takes "
      "longer than that of the others in two halves of the steps, by more than chance and the differences between processes explain, and "
      "if the others wait for it for at least 3 times the clocks' bound ({}).",
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
  section result{"budget", "Where the step went", "The mean step of all ranks: "};
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
  result.add(figure{result.answer, std::move(bars)});
  result.add(figure{"The step of each rank; below it, communication beside computing, which costs nothing", job_rank_lanes(job)});
  result.add(parts_table("job_budget",
                         {{"part"}, {"time", column_kind::milliseconds}, {"share", column_kind::share, column_use::always, "Of the step"}},
                         job.budget, {"step", job.step}));
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
