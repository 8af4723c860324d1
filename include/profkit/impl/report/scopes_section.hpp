// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "headline.hpp"
#include "numbers.hpp"
#include "quality_section.hpp"
#include "report_view.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

// Tables of scopes over all measured steps: one row per path, or one row per name.

/// The tree of scopes with host time, and GPU time between CUDA events: the content of `scopes.csv`.
inline data_table scope_table(summary const& all) {
  constexpr column_kind ms = column_kind::milliseconds;
  data_table result = text_list("scopes", "All scopes");
  result.add_columns({{"scope"},
                      {"count", column_kind::count},
                      {"host total", ms},
                      {"mean", ms},
                      {"std", ms},
                      {"p50", ms},
                      {"p95", ms},
                      {"p99", ms},
                      {"self", ms},
                      {"of parent", column_kind::share},
                      {"of steps", column_kind::share, all.covers_steps ? column_use::always : column_use::file}});
  bool const has_events = std::any_of(all.scopes.begin(), all.scopes.end(), [](scope_summary const& row) { return row.gpu_events; });
  column_use const use = has_events ? column_use::always : column_use::file;
  for (char const* const each : {"GPU total", "GPU mean", "GPU p50", "GPU p95", "GPU p99"}) result.columns.push_back({each, ms, use});
  for (scope_summary const& each : all.scopes) {
    duration_summary const& host = each.host;
    row& next = result.add_row(each.depth).text(each.name).count(host.count).ms(host.total);
    next.ms(host.mean).ms(host.standard_deviation).ms(host.median).ms(host.p95).ms(host.p99).ms(each.host_self);
    next.number(each.share_of_parent).number(each.share_of_steps);
    duration_summary const gpu = each.gpu_events.value_or(duration_summary{});
    next.ms(each.gpu_events ? std::optional{gpu.total} : std::nullopt).ms(gpu.mean).ms(gpu.median).ms(gpu.p95).ms(gpu.p99);
  }
  return result;
}

inline void add_gpu_work_columns(data_table& to) {
  constexpr column_kind ms = column_kind::milliseconds;
  to.add_columns({{"operations", column_kind::count},
                  {"kernel", ms, column_use::always, "sum of the operations launched in the scopes or inside them"},
                  {"self", ms, column_use::always, "sum of the operations launched in the scopes themselves"},
                  {"busy", ms, column_use::always, "time with at least one of these operations"},
                  {"span", ms, column_use::always, "from the first start to the last end"}});
}

inline void add_gpu_work(row& to, std::optional<gpu_work_summary> const& work) {
  if (!work) {
    to.cells.resize(to.cells.size() + 5);
    return;
  }
  to.count(work->operations).ms(work->kernel_time).ms(work->kernel_self).ms(work->busy).ms(work->span.total);
}

/// GPU work by scope, including inner scopes, in tree order. Empty if kernels were not collected.
inline data_table gpu_scope_table(summary const& all) {
  constexpr column_kind ms = column_kind::milliseconds;
  data_table result = text_list("gpu_scopes", "GPU work by scope");
  result.add_columns({{"scope"}});
  add_gpu_work_columns(result);
  result.add_columns({{"span p50", ms},
                      {"span p95", ms},
                      {"span p99", ms},
                      {"latency mean", column_kind::duration},
                      {"latency p95", column_kind::duration},
                      {"idle", ms},
                      {"idle self", ms}});
  for (scope_summary const& each : all.scopes) {
    if (!each.gpu) continue;
    row& next = result.add_row(each.depth).text(each.name);
    add_gpu_work(next, each.gpu);
    duration_summary const& span = each.gpu->span;
    next.ms(span.median).ms(span.p95).ms(span.p99).ms(each.gpu->latency_mean).ms(each.gpu->latency_p95);
    if (each.gpu_idle) {
      next.ms(each.gpu_idle->inclusive).ms(each.gpu_idle->self);
    } else {
      next.missing().missing();
    }
  }
  result.drop_unknown_columns();
  return result;
}

/// Host and GPU time by scope name, merged over the tree.
inline data_table name_table(summary const& all) {
  data_table result = folded_list("names", "By name");
  result.add_columns({{"name"}, {"count", column_kind::count}, {"host total", column_kind::milliseconds}});
  add_gpu_work_columns(result);
  result.add_columns({{"idle", column_kind::milliseconds}});
  for (scope_name_summary const& each : all.names) {
    row& next = result.add_row().text(each.name).count(each.host.count).ms(each.host.total);
    add_gpu_work(next, each.gpu);
    next.ms(each.gpu_idle ? std::optional{each.gpu_idle->inclusive} : std::nullopt);
  }
  result.drop_unknown_columns();
  return result;
}

/// The work of adopting scopes for each scope, compared with the scope's own work.
inline data_table adopted_table(summary const& all) {
  constexpr column_kind ms = column_kind::milliseconds;
  data_table result = text_list("adopted", "Work done for scopes elsewhere");
  result.add_columns({{"scope"},
                      {"role"},
                      {"own host", ms},
                      {"own kernel", ms},
                      {"count", column_kind::count},
                      {"host", ms},
                      {"kernel", ms},
                      {"busy", ms},
                      {"kernel / own", column_kind::real}});
  for (adopted_summary const& each : all.adopted) {
    row& next = result.add_row(each.depth).text(each.name).text(each.role).ms(each.own_host_total).ms(each.own_kernel_time);
    next.count(each.count).ms(each.host_total).ms(each.kernel_time).ms(each.busy);
    next.text_if(each.kernel_ratio.has_value(), fmt::format("{:.2f}", each.kernel_ratio.value_or(0.0)));
  }
  result.drop_unknown_columns();
  return result;
}

/// The explanation below the table.
inline constexpr char const* adopted_note =
    "own: work in the scope and inside it, without adopting scopes there\n"
    "count, host, kernel, busy: adopting scopes that work for the scope or for a scope inside it, without other adopting scopes in them\n";

// The section "Scopes": the folded tree of each kind of step.

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
  scope_rows_of(data_table& table, summary const& all, folded_tree const& tree, double step_ms, double threshold)
      : table_{table}, all_{all}, tree_{tree}, step_{step_ms > 0.0 ? step_ms : 1.0}, threshold_{threshold} {}

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
      if (std::max(scope.time, scope.host) < threshold_ * step_) {
        siblings.smaller.push_back(i);
        continue;
      }
      constexpr double always_open = 0.25;
      bool const opens = depth < 2 || (siblings.is_open && depth < 4 && scope.time >= always_open * step_);
      add_row(scope, shown_name(scope), depth).is_open = opens;
      levels.push_back({tree_.by_time(scope.children), 0, {}, opens});
    }
  }

  void add_root(std::string_view name, folded_scope const& step) { add_row(step, name, 0).is_heading = true; }

 private:
  /// The scopes inside one row, and the position of the next one to add.
  struct level {
    own_vector<std::size_t> rows;
    std::size_t next;
    own_vector<std::size_t> smaller;  ///< scopes that are summarized
    bool is_open;
  };

  static std::string shown_name(folded_scope const& scope) {
    std::string name = scope.name;
    if (scope.folded > 1) name += fmt::format(" {} {}", times_sign, scope.folded);
    return scope.is_of_step_thread || scope.parent ? name : name + ", other thread";
  }

  row& add_row(folded_scope const& scope, std::string_view name, std::uint32_t depth) {
    constexpr char const* no_kernels = "kernels were not collected";
    row& next = table_.add_row(depth).text(name).number(scope.count).number(scope.time).number(scope.time / step_);
    if (tree_.has_gpu()) {
      next.bar({{colour::busy, 0, scope.busy.value_or(0.0) / step_}, {colour::launch_bound, 0, scope.idle.value_or(0.0) / step_}});
      next.number(scope.busy, no_kernels).number(scope.idle, "idle time is charged to scopes of the step's thread only");
      next.number(scope.host).bar({{colour::host, 0, scope.host / step_}});
    } else {
      next.bar({{colour::host, 0, scope.host / step_}}).number(scope.host_self);
    }
    if (!all_.covers_steps) max_call(next, scope);
    return scope.siblings.empty() ? next.blank() : next.range(siblings_cell(scope));
  }

  void max_call(row& to, folded_scope const& scope) const {
    milliseconds most{};
    for (std::size_t const i : scope.scopes) most = std::max(most, all_.scopes[i].host.max.value_or(milliseconds{}));
    scope.scopes.empty() ? to.blank() : to.ms(most);
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
      sum.host_self += each.host_self;
      sum.count += each.count;
      if (each.busy) sum.busy = sum.busy.value_or(0.0) + *each.busy;
      if (each.idle) sum.idle = sum.idle.value_or(0.0) + *each.idle;
      if (i < max_names) names += (i == 0 ? "" : ", ") + name_words(last_component(each.name));
    }
    if (positions.size() > max_names) names += ", \xe2\x80\xa6";
    row& next = add_row(sum, counted(positions.size(), "smaller: ", "smaller: ") + names, depth);
    next.cells[1].value = std::string{};  // the column does not apply
    next.is_quiet = true;
    next.stands_for = positions.size();
  }

  data_table& table_;
  summary const& all_;
  folded_tree const& tree_;
  double step_;
  double threshold_;
};

/// Adds the columns of the tree: per step, or in a session without steps its sums over all threads.
/// @param has_gpu whether kernels were collected; otherwise times are host time.
inline void add_scope_columns(data_table& to, bool has_gpu, bool has_steps) {
  char const* const calls = has_steps ? "per step" : "calls";
  char const* const share = has_steps ? "of step" : "of sum";
  constexpr column_kind ms = column_kind::milliseconds;
  constexpr column_use always = column_use::always;
  to.add_columns({{"scope"}, {calls, column_kind::count, always, "", "calls"}});
  if (has_gpu) {
    to.add_columns({{"", ms, always, "GPU busy and idle time of the scope; each moment of the step counts once"},
                    {share, column_kind::share, always, "", "%"},
                    {"busy, idle", column_kind::bar},
                    {"busy", ms, always, "an operation that was launched in the scope runs", "busy", colour::busy},
                    {"idle", ms, always, "no operation runs, and the host is in the scope", "idle", colour::launch_bound},
                    {"host", ms, always, "time of the host in the scope", "host", colour::host},
                    {"host", column_kind::bar, column_use::wide}});
  } else {
    to.add_columns({{"host", ms},
                    {share, column_kind::share, always, "", "%"},
                    {"host", column_kind::bar},
                    {"itself", ms, always, "without the scopes inside", "itself"}});
  }
  if (!has_steps) to.add_columns({{"longest", column_kind::duration, always, "host time of the longest call"}});
  to.add_columns({{"each", column_kind::range, always, "shortest and longest of the siblings that differ only in their index", "each {}"}});
}

/// Adds the tree of a kind of step. @param threshold rows below this share of the step are summarized.
inline void add_kind_rows(data_table& table, report_view const& view, kind_tree const& shown, double threshold) {
  step_kind_summary const& kind = *shown.kind;
  folded_tree const& tree = shown.tree;
  double const step = step_length(kind).count();
  scope_rows_of rows{table, view.all, tree, step > 0.0 ? step : tree.sum_of_roots(), threshold};
  bool const has_root = tree.step().has_value();
  if (has_root) {
    folded_scope step_of_kind = *tree.step();
    for (std::size_t const i : tree.roots()) {
      if (tree.rows()[i].is_of_step_thread) step_of_kind.children.push_back(i);
    }
    rows.add_root(view.is_main(kind) ? fmt::format("{} ({} of {})", view.kinds.main_words(), count_words(kind.steps),
                                                   count_words(view.all.steps.host.count))
                                     : kind.name,
                  step_of_kind);
  }
  rows.add_tree(has_root ? 1 : 0);
}

/// The trees of all kinds that a report shows. @param threshold rows below this share of the step are summarized.
inline data_table scopes_table(report_view const& view, double threshold) {
  data_table table{"scope_tree"};
  add_scope_columns(table, view.tree().has_gpu(), view.all.covers_steps);
  if (view.kinds.has_several()) table.caption = view.kinds.main_words();
  if (!view.all.covers_steps)
    table.caption = view.all.threads > 1 ? "% of the sum over " + count_words(view.all.threads) + " threads" : "% of the time in scopes";
  for (kind_tree const& each : view.trees) add_kind_rows(table, view, each, threshold);
  if (!view.all.covers_steps) table.drop_unknown_columns();
  // Without siblings that differ in their index only, nothing is in the last column.
  bool const has_ranges = std::any_of(table.rows.begin(), table.rows.end(),
                                      [](row const& each) { return std::holds_alternative<range_cell>(each.cells.back().value); });
  if (!has_ranges) {
    table.columns.pop_back();
    for (row& each : table.rows) each.cells.pop_back();
  }
  return table;
}

/// The time in which no operation ran, and the scopes to which it is charged.
inline std::string idle_words(summary const& all) {
  if (!all.covers_steps) return {};
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
  to.add(scope_table(all));
  to.add_notes("p50, p95 and p99 of scopes have a relative error of at most 1 %", block_use::text);
  to.add_unless_empty(gpu_scope_table(all));
  if (all.gpu) {
    to.add_notes("kernel, busy and span: of the operations launched in the scopes or inside them; self: in the scopes themselves\n" +
                     collected_steps_note(all) + idle_words(all),
                 block_use::text);
  }
  if (!all.adopted.empty()) {
    to.add(adopted_table(all));
    to.add_notes(adopted_note, block_use::text);
  }
  to.add_unless_empty(name_table(all));
}

/// The section, with at most 200 rows per tree: the threshold is doubled until the limit is met.
inline section scopes_section(report_view const& view) {
  section result{"scopes", "Scopes"};
  if (view.tree().rows().empty()) {
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
  result.add(std::move(table));
  add_scope_lists(result, view.all);
  result.how_to_read = view.tree().has_gpu() ? "The time of a scope is the GPU busy time of what it launched, and the idle time while the "
                                               "host was in it. Scopes that differ only in their index "
                                               "are one row with their sum. scopes.csv has all of them."
                                             : "The time of a scope is host time. Scopes that differ only in their index are one row with "
                                               "their sum. scopes.csv has all of them.";
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
