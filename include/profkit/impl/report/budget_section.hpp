// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"

// The section "Where the step went": the time of each part of the step, and the activity of the GPU in it.

namespace PROFKIT_NAMESPACE::detail {

/// The colour of each idle cause, in the order of `idle_cause`.
inline constexpr std::array<colour, idle_causes> idle_cause_colours{colour::launch_bound, colour::host_bound, colour::synchronisation,
                                                                    colour::copies, colour::queued};

/// "Usual step: 46.32 ms, mean of 35 steps".
inline std::string kind_title(report_view const& view, step_kind_summary const& kind) {
  std::string const name = capitalized(view.is_main(kind) ? view.kinds.main_words() : kind.name);
  std::string const time = fmt::format("{}: {}", name, time_words(step_length(kind)));
  return kind.steps > 1 ? fmt::format("{}, mean of {} steps", time, count_words(kind.steps)) : time;
}

/// Busy time and the idle causes as parts of a bar. @param divisor the number of steps, or the time of the whole bar.
inline own_vector<bar_part> budget_bar(milliseconds busy, std::array<milliseconds, idle_causes> const& idle, double divisor) {
  own_vector<bar_part> parts{{colour::busy, 0, busy.count() / divisor}};
  for (std::size_t i = 0; i < idle_causes; ++i) parts.push_back({idle_cause_colours[i], 0, idle[i].count() / divisor});
  return parts;
}

/// Adds idle times by cause. @param why the reason if the cause is unknown.
inline void add_idle(row& to, std::array<milliseconds, idle_causes> const& idle, budget_summary const& budget, double steps,
                     char const* why) {
  for (std::size_t i = 0; i < idle_causes; ++i) {
    if (is_known(budget, i)) {
      to.number(idle[i].count() / steps);
    } else {
      to.missing(why);
    }
  }
}

/// Adds a row of the budget. @param busy, idle, total sums over `steps` steps; printed per step.
inline row& add_budget_row(data_table& to, std::string_view name, milliseconds busy, std::array<milliseconds, idle_causes> const& idle,
                           milliseconds total, budget_summary const& budget, double steps) {
  double const wall = budget.wall.count();
  row& next = to.add_row().text(name).number(total.count() / steps).number(wall > 0.0 ? total.count() / wall : 0.0);
  next.bar(budget_bar(busy, idle, wall > 0.0 ? wall : 1.0)).number(busy.count() / steps);
  add_idle(next, idle, budget, steps, "no launching call was recorded; the time is part of host-bound");
  return next;
}

/// Adds the rows of the parts of a step, and the row with their sum.
inline void add_budget_rows(data_table& table, budget_summary const& budget, double steps) {
  for (budget_row const& each : budget.rows) {
    if (each.total.count() > 0.0) add_budget_row(table, each.part, each.busy, each.idle, each.total, budget, steps);
  }
  row& sum = add_budget_row(table, "all", budget.busy, idle_of_all(budget), budget.wall, budget, steps);
  sum.cells[3].value = std::string{};  // the column does not apply
  sum.is_total = true;
}

inline void add_between_row(data_table& to, step_summary const& times) {
  if (!times.between.mean) return;
  row& next = to.add_row().text("between steps").ms(times.between.mean);
  next.is_quiet = true;
  while (next.cells.size() < to.columns.size()) next.text("");  // the columns do not apply
}

/// A table without rows.
inline data_table empty_budget_table(char const* name) {
  constexpr column_kind ms = column_kind::milliseconds;
  constexpr column_use always = column_use::always;
  data_table table{name};
  table.add_columns(
      {{"part of the step"},
       {"", ms},
       {"of step", column_kind::share, always, "", "%"},
       {"", column_kind::bar},
       {"GPU busy", ms, always, "a kernel, copy or memset of the part runs", "busy", colour::busy},
       {"launch-bound", ms, always, "the host launches, and nothing is queued", "launch", colour::launch_bound},
       {"host-bound", ms, always, "the host does something else, and nothing is queued", "host", colour::host_bound},
       {"synchronisation", ms, always, "the host waits for the GPU", "sync", colour::synchronisation},
       {"copies", ms, always, "the host is in a call that copies or sets memory", "copies", colour::copies},
       {"queued", ms, always, "the next operation is launched, but the device has not started it", "queued", colour::queued}});
  return table;
}

/// The budgets of several kinds in one table. @param kinds must have budgets.
inline data_table parts_table(report_view const& view, own_vector<step_kind_summary const*> const& kinds) {
  data_table table = empty_budget_table("budget");
  for (step_kind_summary const* const kind : kinds) {
    if (kinds.size() > 1) table.add_heading(kind_title(view, *kind));
    add_budget_rows(table, *kind->budget, gpu_steps(*kind));
    add_between_row(table, kind->times);
  }
  return table;
}

/// The budget of the measured steps of all kinds.
inline data_table mean_budget_table(summary const& all) {
  budget_summary const& budget = *all.budget;
  data_table table = empty_budget_table("mean_budget");
  table.caption = fmt::format("Mean of all {} steps", count_words(budget.steps));
  table.folded_label = table.caption;
  table.shown_rows = 0;
  add_budget_rows(table, budget, gpu_steps(budget));
  add_between_row(table, all.steps);
  return table;
}

/// Which copies and communication overlap other operations, and which do not, in lines.
inline std::string overlap_text(budget_summary const& budget) {
  double const steps = gpu_steps(budget);
  std::string text =
      budget.has_launches ? "" : "launch-bound: n/a, because no launching call was recorded; the time is part of host-bound\n";
  text += "overlap: ";
  text += budget.overlap.count() > 0.0
              ? fmt::format("operations ran concurrently for {} a step, counted once for the operation that began first",
                            time_words(budget.overlap / steps))
              : std::string{"no operations ran concurrently"};
  auto const beside = [&](char const* what, hidden_work const& work) {
    if (work.busy.count() == 0.0) return;
    text += fmt::format("; {} {} a step, {} of it with no other operation", what, time_words(work.busy / steps),
                        time_words(work.exposed / steps));
  };
  beside("copies", budget.copies);
  beside("communication", budget.communication);
  return text + "\n";
}

/// The scopes for which the devices waited longest, and the sum of all others.
inline data_table waiting_table(step_kind_summary const& kind) {
  constexpr std::size_t max_named = 5;
  data_table table{"starving", "What the GPU waits for"};
  table.add_columns({{"scope (by name, itself)"},
                     {"idle", column_kind::milliseconds},
                     {"of step", column_kind::share, column_use::always, "", "%"},
                     {"", column_kind::bar}});
  for (char const* const each : idle_cause_names) table.columns.push_back({each, column_kind::milliseconds, column_use::wide});
  double const steps = gpu_steps(kind);
  double const wall = kind.budget->wall.count();
  own_vector<starving_scope> const& all = kind.budget->starving;
  auto const add = [&](std::string_view name, milliseconds total, std::array<milliseconds, idle_causes> const& causes) {
    own_vector<bar_part> parts = budget_bar(milliseconds{}, causes, steps);
    parts.erase(parts.begin());
    row& next = table.add_row().text(name).number(total.count() / steps).number(wall > 0.0 ? total.count() / wall : 0.0);
    next.bar(std::move(parts));
    add_idle(next, causes, *kind.budget, steps, "no launching call was recorded");
  };
  for (std::size_t i = 0; i < std::min(all.size(), max_named); ++i) add(all[i].name, all[i].total, all[i].by_cause);
  if (all.size() <= max_named) return table;
  milliseconds rest{};
  std::array<milliseconds, idle_causes> causes{};
  for (std::size_t i = max_named; i < all.size(); ++i) {
    rest += all[i].total;
    for (std::size_t cause = 0; cause < idle_causes; ++cause) causes[cause] += all[i].by_cause[cause];
  }
  add(counted(all.size() - max_named, "other", "others"), rest, causes);
  table.rows.back().is_quiet = true;
  table.rows.back().stands_for = all.size() - max_named;
  return table;
}

/// Parts of a step by their total time.
inline own_vector<budget_row const*> sorted_by_time(own_vector<budget_row> const& rows) {
  own_vector<budget_row const*> result;
  for (budget_row const& each : rows) result.push_back(&each);
  own_stable_sort(result.begin(), result.end(), [](budget_row const* a, budget_row const* b) { return a->total > b->total; });
  return result;
}

/// "step 40: generation 136 ms (busy 38.9 ms, launch-bound 74.5 ms), validation 15.3 ms (busy 14.6 ms)".
inline std::string other_kind_line(step_kind_summary const& kind) {
  own_vector<budget_row const*> const rows = sorted_by_time(kind.budget->rows);
  double const steps = gpu_steps(kind);
  std::string text = name_words(kind.name) + ":";
  constexpr std::size_t max_parts = 2;
  for (std::size_t i = 0; i < std::min(rows.size(), max_parts); ++i) {
    budget_row const& each = *rows[i];
    if (each.total < 0.01 * kind.budget->wall) break;
    text += fmt::format("{}{} {} (busy {}", i == 0 ? " " : ", ", name_words(each.part), time_words(each.total / steps),
                        time_words(each.busy / steps));
    for (std::size_t cause = 0; cause < idle_causes; ++cause) {
      if (each.idle[cause] >= 0.1 * each.total && each.total.count() > 0.0)
        text += fmt::format(", {} {}", idle_cause_names[cause], time_words(each.idle[cause] / steps));
    }
    text += ")";
  }
  return text;
}

/// The two longest parts, and the share of idle time. @param kind must have a budget.
inline std::string budget_answer(step_kind_summary const& kind) {
  budget_summary const& budget = *kind.budget;
  own_vector<budget_row const*> const rows = sorted_by_time(budget.rows);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 2); ++i) {
    text += fmt::format("{}{}{} {}", i == 0 ? "" : ", ", name_words(rows[i]->part), i == 0 ? " takes" : "",
                        share_words(rows[i]->total / budget.wall));
  }
  return text + "; the GPU idles " + share_words(1.0 - budget.busy / budget.wall) + " of the step.";
}

/// The section; n/a without steps or GPU operations. If these are in other steps, it says so.
inline std::optional<section> budget_section(report_view const& view) {
  if (!view.has_steps() || !view.all.gpu) return std::nullopt;
  section result{"budget", "Where the step went"};
  own_vector<step_kind_summary const*> kinds;
  for (kind_tree const& each : view.trees) {
    if (has_gpu_time(*each.kind)) kinds.push_back(each.kind);
  }
  if (kinds.empty()) {
    result.answer = "n/a: " + why_no_kernels(view.all) + ".";
    return result;
  }
  result.answer = budget_answer(*kinds.front());
  bars_figure bars;
  for (step_kind_summary const* const kind : kinds) {
    stacked_bar bar_of_kind;
    bar_of_kind.title = kind_title(view, *kind);
    for (budget_row const& each : kind->budget->rows)
      bar_of_kind.parts.push_back({each.part, budget_bar(each.busy, each.idle, gpu_steps(*kind))});
    bars.bars.push_back(std::move(bar_of_kind));
  }
  bars.legend.push_back({{colour::busy, 0, 0.0}, "GPU busy"});
  for (std::size_t i = 0; i < idle_causes; ++i) bars.legend.push_back({{idle_cause_colours[i], 0, 0.0}, idle_cause_names[i]});
  result.add(figure{result.answer, std::move(bars)});
  result.add(parts_table(view, kinds));
  for (std::size_t i = 1; i < kinds.size(); ++i) result.add_note(other_kind_line(*kinds[i]), true, block_use::text);
  if (!kinds.front()->budget->starving.empty()) result.add(waiting_table(*kinds.front()));
  if (view.all.budget) {
    if (view.kinds.has_several()) result.add(mean_budget_table(view.all));
    result.add_notes(overlap_text(*view.all.budget) + collected_steps_note(view.all));
  }
  result.how_to_read =
      "Each moment of a step is in exactly one cell, so the rows add up to the step; the time between steps is not part of it. GPU busy: a "
      "kernel, copy or memset of the part runs. "
      "The rest is idle time, by what the host does meanwhile. Launch-bound: it launches, and nothing is queued. Host-bound: it does "
      "something else. Synchronisation, copies: it waits in such a call. Queued: the next operation is launched, but has not begun.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
