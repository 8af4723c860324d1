// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "idle_cause_names.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"
#include "table.hpp"

namespace profkit {

namespace detail {

inline constexpr std::array<char const*, idle_causes> idle_cause_keys{"launch_bound_ms", "host_bound_ms", "synchronisation_ms", "copies_ms",
                                                                      "queued_ms"};
inline constexpr std::size_t starving_shown = 10;
inline constexpr std::size_t starving_named = 5;

/// Divides times over all steps of the budget by the number of steps.
class per_step {
 public:
  explicit per_step(summary const& summary)
      : steps_{std::max<double>(1.0, static_cast<double>(summary.budget ? summary.budget->steps : 0))} {}
  [[nodiscard]] milliseconds operator()(milliseconds all) const { return all / steps_; }
  [[nodiscard]] std::string text(milliseconds all) const { return format_ms((*this)(all)); }

 private:
  double steps_;
};

inline std::string share_of(milliseconds part, milliseconds whole) {
  return whole.count() > 0.0 ? format_share(part / whole) : not_measured;
}

/// Whether the time of a cause was measured.
inline bool is_known(budget_summary const& budget, std::size_t cause) {
  return budget.has_launches || static_cast<idle_cause>(cause) != idle_cause::launching;
}

/// Adds a cell per cause, for one step.
inline void add_causes(std::vector<std::string>& cells, std::array<milliseconds, idle_causes> const& idle, budget_summary const& budget,
                       per_step const& each) {
  for (std::size_t cause = 0; cause < idle_causes; ++cause) {
    cells.push_back(is_known(budget, cause) ? each.text(idle[cause]) : not_measured);
  }
}

inline std::vector<std::string> budget_cells(std::string part, milliseconds busy, std::array<milliseconds, idle_causes> const& idle,
                                             milliseconds total, budget_summary const& budget, per_step const& each) {
  std::vector<std::string> cells{std::move(part), each.text(busy)};
  add_causes(cells, idle, budget, each);
  cells.push_back(each.text(total));
  cells.push_back(share_of(total, budget.wall));
  return cells;
}

/// Such as "launch-bound 25.0 %, queued 1.3 %": the causes that occurred.
inline std::string causes_text(std::array<milliseconds, idle_causes> const& idle, milliseconds wall) {
  std::string text;
  for (std::size_t cause = 0; cause < idle_causes; ++cause) {
    if (idle[cause].count() == 0.0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", idle_cause_names[cause], share_of(idle[cause], wall));
  }
  return text;
}

inline std::array<milliseconds, idle_causes> idle_of_all(budget_summary const& budget) {
  std::array<milliseconds, idle_causes> sum{};
  for (budget_row const& row : budget.rows) {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) sum[cause] += row.idle[cause];
  }
  return sum;
}

}  // namespace detail

/// @brief The step budget: wall time of a step by part and by GPU state, in milliseconds per step. The column `of step` adds up to 100 %.
/// @param summary the figures.
/// @return the table; empty without a budget.
[[nodiscard]] inline table budget_table(summary const& summary) {
  std::vector<std::string> headings{"part of the step", "GPU busy"};
  for (char const* const cause : detail::idle_cause_names) headings.push_back(std::string{"idle: "} + cause);
  headings.insert(headings.end(), {"ms a step", "of step"});
  table result{std::move(headings)};
  if (!summary.budget) return result;
  detail::per_step const each{summary};
  milliseconds total{};
  for (budget_row const& row : summary.budget->rows) {
    result.add(detail::budget_cells(row.part, row.busy, row.idle, row.total, *summary.budget, each));
    total += row.total;
  }
  result.add(detail::budget_cells("all", summary.budget->busy, detail::idle_of_all(*summary.budget), total, *summary.budget, each));
  return result;
}

/// @brief The scopes for which the devices waited longest, merged by name, in milliseconds per step.
/// @param summary the figures.
/// @return the table; empty without a budget.
[[nodiscard]] inline table starving_table(summary const& summary) {
  std::vector<std::string> headings{"scope that the GPU waits for", "idle ms a step", "of step"};
  headings.insert(headings.end(), detail::idle_cause_names.begin(), detail::idle_cause_names.end());
  table result{std::move(headings)};
  if (!summary.budget) return result;
  detail::per_step const each{summary};
  for (std::size_t i = 0; i < std::min(summary.budget->starving.size(), detail::starving_shown); ++i) {
    starving_scope const& row = summary.budget->starving[i];
    std::vector<std::string> cells{row.name, each.text(row.total), detail::share_of(row.total, summary.budget->wall)};
    detail::add_causes(cells, row.by_cause, *summary.budget, each);
    result.add(std::move(cells));
  }
  return result;
}

/// @brief The lines below the budget: idle share of a step, its causes, the scopes that the GPU waits for, and overlap.
/// @param summary the figures; must have a budget.
/// @return one or more lines.
[[nodiscard]] inline std::string budget_verdict(summary const& summary) {
  if (!summary.budget || summary.budget->wall.count() == 0.0) return "";
  budget_summary const& budget = *summary.budget;
  detail::per_step const each{summary};
  milliseconds const idle = budget.wall - budget.busy;
  std::string text = fmt::format("The GPU idles for {} of the step, {} of {} ms", detail::share_of(idle, budget.wall), each.text(idle),
                                 each.text(budget.wall));
  std::string const causes = detail::causes_text(detail::idle_of_all(budget), budget.wall);
  if (!causes.empty()) text += ": " + causes;
  for (std::size_t i = 0; i < std::min(budget.starving.size(), detail::starving_named); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "; it waits longest for " : ", ", detail::one_line(budget.starving[i].name),
                        detail::share_of(budget.starving[i].total, budget.wall));
  }
  if (!budget.has_launches) {
    text += "\nlaunch-bound: n/a, because no launching call was recorded; the time is part of host-bound";
  }
  text += fmt::format("\noverlap: operations ran concurrently for {} ms a step, counted once for the operation that began first",
                      each.text(budget.overlap));
  auto const beside = [&](char const* what, hidden_work const& work) {
    if (work.busy.count() == 0.0) return;
    text += fmt::format("; {} {} ms, {} ms of it with no other operation", what, each.text(work.busy), each.text(work.exposed));
  };
  beside("copies", budget.copies);
  beside("communication", budget.communication);
  return text + "\n";
}

}  // namespace profkit
