// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "scope_tables.hpp"
#include "shown_text.hpp"

// The section "Scopes": the folded tree of each kind of step.

namespace profkit::detail {

/// The range of the siblings of a folded row, and the siblings that are far from the others.
inline range_cell siblings_cell(folded_scope const& scope) {
  constexpr std::size_t max_odd = 3;
  constexpr double min_share = 0.002;
  own_vector<double> values;
  double sum = 0.0;
  for (folded_scope::sibling const& each : scope.siblings) {
    values.push_back(each.each);
    sum += each.each;
  }
  own_vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  double const median = sorted[sorted.size() / 2];
  auto const is_odd = [&](double value) {
    return (value > 2.0 * median || value < median / 2.0) && std::max(value - median, median - value) >= min_share * sum;
  };
  std::size_t odd = 0;
  for (double const value : values) {
    if (is_odd(value)) ++odd;
  }
  bool const is_named = odd > 0 && odd <= max_odd && odd < values.size();
  range_cell result;
  result.low = sorted.back();
  for (folded_scope::sibling const& each : scope.siblings) {
    if (is_named && is_odd(each.each)) {
      result.remark += fmt::format("{}_{}: {}", result.remark.empty() ? "" : ", ", each.index, time_words(milliseconds{each.each}));
      continue;
    }
    result.low = std::min(result.low, each.each);
    result.high = std::max(result.high, each.each);
  }
  result.mean = sum / static_cast<double>(values.size());
  result.values = std::move(values);
  return result;
}

/// The rows of folded trees with at least a given share of the step. The smaller children of a parent are one row.
class scope_rows_of {
 public:
  /// @param threshold rows with a smaller share of the step, by time and by host time, are summarized.
  scope_rows_of(data_table& table, folded_tree const& tree, double step_ms, double threshold)
      : table_{table}, tree_{tree}, step_{step_ms > 0.0 ? step_ms : 1.0}, threshold_{threshold} {}

  /// Adds the rows of the tree, depth first, the longest of siblings first.
  /// @param depth_of_roots depth of the rows of the roots.
  void add_tree(std::uint32_t depth_of_roots) {
    own_vector<level> levels;
    levels.push_back({tree_.by_time(tree_.roots()), 0, {}, true});
    while (!levels.empty()) {
      level& siblings = levels.back();
      std::uint32_t const depth = depth_of_roots + static_cast<std::uint32_t>(levels.size()) - 1;
      if (siblings.next == siblings.rows.size()) {
        if (!siblings.smaller.empty()) add_smaller(siblings.smaller, depth);
        levels.pop_back();
        continue;
      }
      std::size_t const i = siblings.rows[siblings.next++];
      folded_scope const& scope = tree_.rows()[i];
      if (!is_large(scope)) {
        siblings.smaller.push_back(i);
        continue;
      }
      constexpr double always_open = 0.25;
      bool const opens = depth < 2 || (siblings.is_open && depth < 4 && scope.time >= always_open * step_);
      row next = row_of(scope, shown_name(scope));
      next.depth = depth;
      next.is_open = opens;
      table_.rows.push_back(std::move(next));
      levels.push_back({tree_.by_time(scope.children), 0, {}, opens});
    }
  }

  /// Adds the row of the step, above its scopes.
  void add_root(std::string name, folded_scope const& step) {
    row root = row_of(step, std::move(name));
    root.is_heading = true;
    table_.rows.push_back(std::move(root));
  }

 private:
  /// The scopes inside one row, and the position of the next one to add.
  struct level {
    own_vector<std::size_t> rows;
    std::size_t next;
    own_vector<std::size_t> smaller;  ///< scopes that are summarized
    bool is_open;
  };

  [[nodiscard]] bool is_large(folded_scope const& scope) const { return std::max(scope.time, scope.host) >= threshold_ * step_; }

  static std::string shown_name(folded_scope const& scope) {
    std::string name = scope.name;
    if (scope.folded > 1) name += fmt::format(" {} {}", times_sign, scope.folded);
    return scope.is_of_step_thread || scope.parent ? name : name + ", other thread";
  }

  [[nodiscard]] row row_of(folded_scope const& scope, std::string name) const {
    row result;
    result.cells = {text_cell(std::move(name)), number_cell(scope.count), number_cell(scope.time), number_cell(scope.time / step_)};
    bool const has_gpu = tree_.has_gpu();
    cell const each = scope.siblings.empty() ? empty_cell() : cell{siblings_cell(scope), {}};
    constexpr char const* no_kernels = "kernels were not collected";
    if (has_gpu) {
      double const busy = scope.busy.value_or(0.0);
      double const idle = scope.idle.value_or(0.0);
      result.cells.push_back(bar({{colour::busy, 0, busy / step_}, {colour::launch_bound, 0, idle / step_}}));
      result.cells.push_back(number_cell(scope.busy, no_kernels));
      result.cells.push_back(number_cell(scope.idle, "idle time is charged to scopes of the step's thread only"));
      result.cells.push_back(number_cell(scope.host));
      result.cells.push_back(bar({{colour::host, 0, scope.host / step_}}));
    } else {
      double inside = 0.0;
      for (std::size_t const child : scope.children) inside += tree_.rows()[child].host;
      result.cells.push_back(bar({{colour::host, 0, scope.host / step_}}));
      result.cells.push_back(number_cell(std::max(0.0, scope.host - inside)));
      result.cells.push_back(missing_cell(no_kernels));
    }
    result.cells.push_back(each);
    return result;
  }

  /// "3 smaller: a, b, c...".
  void add_smaller(own_vector<std::size_t> const& positions, std::uint32_t depth) {
    folded_scope sum;
    std::string names;
    constexpr std::size_t max_names = 3;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      folded_scope const& each = tree_.rows()[positions[i]];
      sum.time += each.time;
      sum.host += each.host;
      sum.count += each.count;
      if (each.busy) sum.busy = sum.busy.value_or(0.0) + *each.busy;
      if (each.idle) sum.idle = sum.idle.value_or(0.0) + *each.idle;
      if (i < max_names) names += (i == 0 ? "" : ", ") + name_words(last_component(each.name));
    }
    if (positions.size() > max_names) names += ", \xe2\x80\xa6";
    row next = row_of(sum, counted(positions.size(), "smaller: ", "smaller: ") + names);
    next.cells[1] = empty_cell();
    next.depth = depth;
    next.is_quiet = true;
    next.stands_for = positions.size();
    table_.rows.push_back(std::move(next));
  }

  data_table& table_;
  folded_tree const& tree_;
  double step_;
  double threshold_;
};

/// The columns of the tree. @param has_gpu whether kernels were collected; otherwise times are host time.
inline own_vector<column> scope_columns(bool has_gpu) {
  own_vector<column> columns{{"scope"}, text_headed({"per step", column_kind::count}, "calls")};
  if (has_gpu) {
    columns.push_back(
        {"", column_kind::milliseconds, column_use::always, "GPU busy and idle time of the scope; each moment of the step counts once"});
    columns.push_back(text_headed({"of step", column_kind::share}, "%"));
    columns.push_back({"busy, idle", column_kind::bar});
    columns.push_back(legend_column("busy", "busy", colour::busy, "an operation that was launched in the scope runs"));
    columns.push_back(legend_column("idle", "idle", colour::launch_bound, "no operation runs, and the host is in the scope"));
    columns.push_back(legend_column("host", "host", colour::host, "time of the host in the scope"));
    columns.push_back({"host", column_kind::bar, column_use::wide});
  } else {
    columns.push_back({"host", column_kind::milliseconds});
    columns.push_back(text_headed({"of step", column_kind::share}, "%"));
    columns.push_back({"host", column_kind::bar});
    columns.push_back(text_headed({"itself", column_kind::milliseconds, column_use::always, "without the scopes inside"}, "itself"));
    columns.push_back(text_headed({"GPU", column_kind::milliseconds}, "GPU"));
  }
  columns.push_back(text_headed(
      {"each", column_kind::range, column_use::always, "shortest and longest of the siblings that differ only in their index"}, "each {}"));
  return columns;
}

/// Adds the tree of a kind of step. @param threshold rows below this share of the step are summarized.
inline void add_kind_rows(data_table& table, report_view const& view, step_kind_summary const& kind, folded_tree const& tree,
                          double threshold) {
  double const step = &kind == &view.main() ? view.step_ms() : step_length(kind).count();
  double longest = step;
  if (longest <= 0.0) {
    for (std::size_t const i : tree.roots()) longest += tree.rows()[i].time;
  }
  scope_rows_of rows{table, tree, longest, threshold};
  bool const has_root = tree.step().has_value();
  if (has_root) {
    bool const is_main = &kind == &view.main();
    folded_scope step_of_kind = *tree.step();
    for (std::size_t const i : tree.roots()) {
      if (tree.rows()[i].is_of_step_thread) step_of_kind.children.push_back(i);
    }
    rows.add_root(
        is_main ? fmt::format("{} ({} of {})", view.kinds.main_words(), count_words(kind.steps), count_words(view.all.steps.host.count))
                : kind.name,
        step_of_kind);
  }
  rows.add_tree(has_root ? 1 : 0);
}

/// The main kind, then the other kinds that a report shows.
inline own_vector<step_kind_summary const*> kinds_shown(report_view const& view) {
  own_vector<step_kind_summary const*> result{&view.main()};
  if (view.kinds.has_several()) {
    for (step_kind_summary const* const each : view.kinds.others()) result.push_back(each);
  }
  return result;
}

/// The trees of all kinds that a report shows. @param threshold rows below this share of the step are summarized.
inline data_table scopes_table(report_view const& view, double threshold) {
  data_table table;
  table.name = "scope_tree";
  table.columns = scope_columns(view.tree.has_gpu());
  if (view.kinds.has_several()) table.caption = view.kinds.main_words();
  for (step_kind_summary const* const kind : kinds_shown(view)) {
    if (kind == &view.main()) {
      add_kind_rows(table, view, *kind, view.tree, threshold);
    } else {
      add_kind_rows(table, view, *kind, folded_tree{view.all, *kind}, threshold);
    }
  }
  return table;
}

/// The time in which no operation ran, and the scopes to which it is charged.
inline std::string idle_words(summary const& all) {
  if (!all.gpu || !all.gpu->idle || all.steps.host.count == 0) return "idle: n/a, no step was measured\n";
  gpu_idle_summary const& idle = *all.gpu->idle;
  milliseconds const steps = all.budget ? all.budget->wall : all.steps.host.total;
  std::string text = fmt::format("idle: no operation ran on any device for {} ms", format_ms(idle.inclusive));
  if (steps.count() > 0.0) {
    text += fmt::format(", {} of the {} steps' {} ms", format_share(idle.inclusive / steps),
                        collected_steps_text(all).empty() ? "measured" : "collected", format_ms(steps));
  }
  text += "; charged to the innermost scope of the step thread, or to a scope that adopted it on another thread";
  if (idle.self.count() > 0.0) text += fmt::format(", {} ms outside any scope", format_ms(idle.self));
  return text + "\n";
}

/// Adds tables of all scopes in the measured steps of all kinds.
inline void add_scope_lists(section& to, summary const& all) {
  to.blocks.emplace_back(scope_table(all));
  add_notes(to, "p50, p95 and p99 of scopes have a relative error of at most 1 %", block_use::text);
  if (data_table table = gpu_scope_table(all); !table.rows.empty()) to.blocks.emplace_back(std::move(table));
  if (all.gpu)
    add_notes(to,
              "kernel, busy and span: of the operations launched in the scopes or inside them; self: in the scopes themselves\n" +
                  collected_steps_note(all) + idle_words(all),
              block_use::text);
  if (!all.adopted.empty()) {
    to.blocks.emplace_back(adopted_table(all));
    add_notes(to, adopted_note, block_use::text);
  }
  if (!all.names.empty()) to.blocks.emplace_back(name_table(all));
}

/// The section, with at most 200 rows per tree: the threshold is doubled until the limit is met.
inline section scopes_section(report_view const& view) {
  section result;
  result.id = "scopes";
  result.title = "Scopes";
  if (view.tree.rows().empty()) {
    result.answer = view.has_steps()        ? "n/a: no scope was recorded in the measured steps."
                    : view.all.covers_steps ? "n/a: no step was measured."
                                            : "n/a: no scope was recorded.";
    add_scope_lists(result, view.all);
    return result;
  }
  constexpr std::size_t max_rows = 200;
  double threshold = 0.005;
  data_table table = scopes_table(view, threshold);
  while (table.rows.size() > max_rows && threshold < 1.0) {
    threshold *= 2.0;
    table = scopes_table(view, threshold);
  }
  result.answer = fmt::format("{} in {}.", counted(view.all.scopes.size(), "scope", "scopes"), counted(table.rows.size(), "row", "rows"));
  if (!view.tree.has_gpu()) result.answer += " GPU time is n/a: " + why_no_kernels(view.all) + ".";
  result.blocks.emplace_back(std::move(table));
  add_scope_lists(result, view.all);
  result.how_to_read = view.tree.has_gpu() ? "The time of a scope is the GPU busy time of what it launched, and the idle time while the "
                                             "host was in it. Scopes that differ only in their index "
                                             "are one row with their sum. scopes.csv has all of them."
                                           : "The time of a scope is host time. Scopes that differ only in their index are one row with "
                                             "their sum. scopes.csv has all of them.";
  return result;
}

}  // namespace profkit::detail
