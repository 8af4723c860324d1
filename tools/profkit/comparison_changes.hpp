// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/document.hpp>
#include <profkit/impl/report/numbers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "comparison_figures.hpp"
#include "comparison_tree.hpp"
#include "comparison_words.hpp"

namespace profkit_program::detail {

/// The sections of a comparison that list its rows: the parts of the difference, and all changes.
class comparison_changes {
 public:
  /// @param result, tree, options must outlive this.
  comparison_changes(comparison const& result, comparison_tree const& tree, compare_options const& options)
      : result_{result}, tree_{tree}, options_{options} {}

  /// The parts of the step: GPU busy and idle time if scopes are compared by GPU time, else host time. Both add up to the step.
  [[nodiscard]] std::optional<profkit::detail::section> where_from() const {
    if (tree_.step() == nullptr || options_.statistic != run_statistic::mean) return std::nullopt;  // only means add up
    profkit::detail::section section{"parts", "Where the change comes from", {}, {}, {}};
    if (!result_.budget && has_gpu_parts()) {
      section.answer =
          "n/a: scopes are compared by GPU time, which adds up to the step only with the idle time of the GPU. Some run has no step "
          "budget, "
          "or the runs do not agree on whether the step is the GPU period. Use --metric host to see the parts of the step on the host.";
      return section;
    }
    parts_of_step const parts = result_.budget ? parts_by_gpu(*result_.budget) : parts_by_host();
    profkit::detail::column_numbers const numbers{profkit::detail::column_kind::milliseconds, std::max(parts.a_ms, parts.b_ms)};
    auto const label_of = [&](double ms) { return (ms > 0.0 ? "+" : "") + numbers.text(ms) + "\xc2\xa0" + numbers.unit(); };
    profkit::detail::waterfall_figure figure{parts.a_ms, parts.b_ms, {}};
    profkit::detail::data_table table = parts_table(result_.budget.has_value());
    comparison_part rest{"other parts", parts.a_ms, parts.b_ms, parts.busy_difference_ms, verdict::unsure};
    for (comparison_part const& each : parts.parts) {
      double const difference = each.b_ms - each.a_ms;
      if (std::abs(difference) < min_part * std::max(parts.a_ms, parts.b_ms)) continue;
      rest.a_ms -= each.a_ms;
      rest.b_ms -= each.b_ms;
      rest.busy_difference_ms -= each.busy_difference_ms;
      bool const is_certain = each.says != verdict::unsure && each.says != verdict::same;
      figure.parts.push_back({each.name, difference, is_certain, label_of(difference) + " " + word_of(each.says)});
      table.rows.push_back(row_of_part(each, word_of(each.says)));
    }
    if (figure.parts.empty()) {
      section.answer = "No part of the step changed by 0.05\xc2\xa0% of it or more.";
      return section;
    }
    double const rest_difference = rest.b_ms - rest.a_ms;
    if (std::abs(rest_difference) > 1e-9 * parts.a_ms) {
      figure.parts.push_back({rest.name, rest_difference, false, label_of(rest_difference)});
      table.rows.push_back(row_of_part(rest, {}));
    }
    section.answer = answer_of(figure.parts, parts.b_ms - parts.a_ms);
    table.rows.push_back(row_of_part({"step", parts.a_ms, parts.b_ms, parts.busy_difference_ms, verdict::unsure}, {}));
    table.rows.back().is_total = true;
    section.how_to_read =
        "Milliseconds a step; the parts add up to the difference of the two means. The axis need not begin at 0. Parts that changed by "
        "less "
        "than 0.05\xc2\xa0% of the step, and time outside these scopes, are in \"other parts\".";
    if (result_.budget) {
      section.how_to_read += fmt::format(
          " The time of a part is GPU busy time and the GPU idle time while the host was in it. The words hold with {} for all parts at "
          "once.",
          plain_percent(1.0 - options_.error_rate));
    }
    if (result_.is_usual_step && !result_.budget) section.how_to_read += " All are means of all measured steps, with those of other kinds.";
    section.blocks.emplace_back(profkit::detail::figure{section.answer, std::move(figure)});
    section.blocks.emplace_back(std::move(table));
    return section;
  }

  /// Changed rows with the scopes around them, in the order of the tree; then changed kernels and functions; then all other rows, by size.
  [[nodiscard]] profkit::detail::section all_changes(bool all) const {
    std::vector<bool> shown(result_.rows.size(), false);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (!has_changed(result_.rows[i]) && result_.rows[i].kind != row_kind::step && tree_.odd_members(i).empty()) continue;
      for (std::size_t at = i; at != none; at = tree_.parent(at)) shown[at] = true;
    }
    profkit::detail::data_table scopes = table_of("changes", "scope");
    profkit::detail::data_table kernels = table_of("kernel_changes", "kernel");
    profkit::detail::data_table functions = table_of("function_changes", "scope and function");
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      bool const is_kernel = result_.rows[i].kind == row_kind::kernel;
      if (!shown[i] && !tree_.is_row_of_step(i)) {
        others.push_back(i);
      } else if (is_kernel) {
        kernels.rows.push_back(row_of(result_.rows[i], path_text(i), 0));
      } else if (result_.rows[i].kind == row_kind::function) {
        functions.rows.push_back(row_of(result_.rows[i], path_text(i), 0));
      } else {
        if (tree_.is_row_of_step(i)) continue;
        scopes.rows.push_back(row_of(result_.rows[i], tree_.name_of_row(i), tree_.depth_in_table(i)));
        add_members(scopes, i);
      }
    }
    kernels.columns.front().kind = functions.columns.front().kind = profkit::detail::column_kind::code;
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
      return std::max(result_.rows[a].a_ms, result_.rows[a].b_ms) > std::max(result_.rows[b].a_ms, result_.rows[b].b_ms);
    });
    profkit::detail::data_table rest = table_of("other_rows", "scope, kernel or function");
    for (std::size_t const each : others) rest.rows.push_back(row_of(result_.rows[each], path_text(each), 0));
    rest.shown_rows = 0;
    rest.folded_label = fmt::format("{} rows without a change that can be told", others.size());

    profkit::detail::section section{"changes", "All changes", {}, {}, {}};
    section.answer = verdicts_text();
    if (std::size_t const odd = tree_.count_odd_members(); odd > 0) {
      section.answer +=
          fmt::format(" Of {} numbered scopes, {} changed otherwise than {} row.", result_.members.size(), odd, odd == 1 ? "its" : "their");
    }
    section.how_to_read = fmt::format(
        "Dot: change of the mean; line: range in which it lies, {} for the step and {} for all {} other rows at once. Filled dots: the "
        "range "
        "excludes 0. Grey band: {}{}, "
        "which does not matter. Arrow: the range goes on. The axis is logarithmic, so half and twice the time are equally far from 0.",
        plain_percent(1.0 - options_.error_rate), plain_percent(1.0 - row_error_rate(result_, options_)), result_.judged, plus_minus,
        plain_percent(options_.margin));
    if (!result_.members.empty()) {
      section.how_to_read += fmt::format(" Numbered scopes are one row with their sum: {} rows in place of {}.", scope_rows(),
                                         scope_rows() + result_.members.size() - summed_rows());
    }
    for (profkit::detail::data_table* const each : {&scopes, &kernels, &functions, &rest}) {
      each->use = profkit::detail::block_use::pages;
      name_times(*each);
    }
    section.blocks.emplace_back(profkit::detail::note{counts_text(), false, profkit::detail::block_use::text});
    if (profkit::detail::data_table listed = flat_table(all); !listed.rows.empty()) section.blocks.emplace_back(std::move(listed));
    if (!scopes.rows.empty()) section.blocks.emplace_back(std::move(scopes));
    if (!kernels.rows.empty()) section.blocks.emplace_back(std::move(kernels));
    if (!functions.rows.empty()) section.blocks.emplace_back(std::move(functions));
    if (!rest.rows.empty()) section.blocks.emplace_back(std::move(rest));
    return section;
  }

 private:
  /// The parts of the step, which add up to it, but for what lies in none.
  struct parts_of_step {
    double a_ms = 0.0;
    double b_ms = 0.0;
    double busy_difference_ms = 0.0;
    std::vector<comparison_part> parts;
  };

  static constexpr double min_part = 0.0005;  ///< share of the step

  [[nodiscard]] static parts_of_step parts_by_gpu(comparison_budget const& budget) {
    parts_of_step result{budget.a_ms, budget.b_ms, 0.0, budget.parts};
    for (comparison_part const& each : budget.parts) result.busy_difference_ms += each.busy_difference_ms;
    return result;
  }

  [[nodiscard]] parts_of_step parts_by_host() const {
    comparison_row const* const whole = tree_.whole_of_parts();
    parts_of_step result{whole->a_ms, whole->b_ms, 0.0, {}};
    for (std::size_t const i : direct_scopes()) {
      comparison_row const& each = result_.rows[i];
      result.parts.push_back({tree_.name_of_row(i), each.a_ms, each.b_ms, 0.0, each.says});
    }
    return result;
  }

  [[nodiscard]] std::vector<std::size_t> direct_scopes() const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      bool const is_direct =
          each.kind == row_kind::scope && each.figure.empty() && tree_.parent(i) != none && tree_.is_step_scope(tree_.parent(i));
      if (is_direct) result.push_back(i);
    }
    return result;
  }

  /// Whether GPU times of parts of the step are compared.
  [[nodiscard]] bool has_gpu_parts() const {
    std::vector<std::size_t> const scopes = direct_scopes();
    return tree_.whole_of_parts()->is_gpu ||
           std::any_of(scopes.begin(), scopes.end(), [&](std::size_t i) { return result_.rows[i].is_gpu; });
  }

  /// The largest part in each direction, or the largest two of one. @param parts at least one.
  [[nodiscard]] static std::string answer_of(std::vector<profkit::detail::waterfall_figure::part> parts, double together) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](auto const& a, auto const& b) { return std::abs(a.difference) > std::abs(b.difference); });
    auto const words = [](auto const& part) { return fmt::format("{} in {}", more_or_less(part.difference), part.name); };
    if (std::none_of(parts.begin(), parts.end(), [](auto const& each) { return each.is_certain; }))
      return fmt::format("No part of the step is known to have changed; the largest difference is {}.", words(parts.front()));
    if (parts.size() == 1) return words(parts.front()) + ".";
    auto const opposite =
        std::find_if(parts.begin(), parts.end(), [&](auto const& each) { return each.difference * parts.front().difference < 0.0; });
    auto const& second = opposite == parts.end() ? parts[1] : *opposite;
    return fmt::format("{}, {}: {} together.", words(parts.front()), words(second), more_or_less(together));
  }

  /// The numbers of the picture.
  [[nodiscard]] static profkit::detail::data_table parts_table(bool has_idle) {
    using kind = profkit::detail::column_kind;
    profkit::detail::data_table table{
        "parts",
        "",
        {{"part"}, {"before", kind::milliseconds}, {"after", kind::milliseconds}, {"difference", kind::milliseconds}, {"verdict"}},
        {}};
    if (has_idle) table.columns.insert(table.columns.end() - 1, {{"GPU busy", kind::milliseconds}, {"GPU idle", kind::milliseconds}});
    for (std::size_t i = 3; i + 1 < table.columns.size(); ++i) table.columns[i].is_difference = true;
    table.shown_rows = 0;
    table.folded_label = has_idle ? "The parts as a table, with the differences of busy and idle time" : "The parts as a table";
    table.use = profkit::detail::block_use::pages;
    return table;
  }

  [[nodiscard]] profkit::detail::row row_of_part(comparison_part const& part, std::string words) const {
    double const difference = part.b_ms - part.a_ms;
    profkit::detail::row result{{{part.name}, {part.a_ms}, {part.b_ms}, {difference}, {std::move(words)}}};
    if (!result_.budget) return result;
    result.cells.insert(result.cells.end() - 1, {{part.busy_difference_ms}, {difference - part.busy_difference_ms}});
    return result;
  }

  static constexpr std::size_t none = comparison_tree::none;
  static constexpr char const* plus_minus = "\xc2\xb1";

  using cell = profkit::detail::cell;
  using row = profkit::detail::row;

  [[nodiscard]] std::size_t scope_rows() const {
    return static_cast<std::size_t>(std::count_if(result_.rows.begin(), result_.rows.end(), [](comparison_row const& each) {
      return each.kind == row_kind::scope && each.figure.empty();
    }));
  }

  /// The number of rows that are sums of several scopes.
  [[nodiscard]] std::size_t summed_rows() const {
    return static_cast<std::size_t>(
        std::count_if(result_.rows.begin(), result_.rows.end(), [](comparison_row const& each) { return each.scopes > 1; }));
  }

  /// "Rows: 4 faster, 5 slower, 1 new; 2 same, 15 unsure. Numbered scopes: 1 slower.", without verdicts that no row has.
  [[nodiscard]] std::string verdicts_text() const {
    std::string changed;
    std::string others;
    std::string members;
    auto const add = [](std::string& to, std::size_t count, verdict says) {
      if (count > 0) to += fmt::format("{}{} {}", to.empty() ? "" : ", ", count, word_of(says));
    };
    for (verdict const says : {verdict::faster, verdict::slower, verdict::added, verdict::gone, verdict::same, verdict::unsure}) {
      bool const is_open = says == verdict::same || says == verdict::unsure;
      add(is_open ? others : changed, result_.count(says), says);
      auto const has_it = [&](comparison_member const& each) { return each.scope.says == says; };
      if (!is_open) add(members, static_cast<std::size_t>(std::count_if(result_.members.begin(), result_.members.end(), has_it)), says);
    }
    return fmt::format("Rows: {}{}.{}", changed.empty() ? "none changed" : changed, others.empty() ? others : "; " + others,
                       members.empty() ? members : " Numbered scopes: " + members + ".");
  }

  /// The complete name of a row.
  [[nodiscard]] std::string path_text(std::size_t position) const {
    comparison_row const& each = result_.rows[position];
    return each.name + (each.figure.empty() ? siblings_text(each) : " (" + each.figure + ")");
  }

  /// Adds the members of a row that changed otherwise than the row, below it.
  void add_members(profkit::detail::data_table& to, std::size_t position) const {
    constexpr std::size_t max_listed = 5;
    std::vector<comparison_row const*> const& odd = tree_.odd_members(position);
    std::uint32_t const depth = tree_.depth_in_table(position) + 1;
    for (std::size_t i = 0; i < std::min(odd.size(), max_listed); ++i) {
      to.rows.push_back(row_of(*odd[i], tree_.numbers_of_member(*odd[i], position), depth));
      to.rows.back().stands_for = 0;  // its row stands for it
    }
    if (odd.size() <= max_listed) return;
    row& more = to.rows.emplace_back();
    more.cells = {{fmt::format("{} more of them", odd.size() - max_listed)}, {std::string{odd.front()->is_gpu ? "GPU" : "host"}}};
    more.cells.resize(to.columns.size(), {std::string{}});
    more.depth = depth;
    more.is_quiet = true;
    more.stands_for = 0;
  }

  [[nodiscard]] static row row_of(comparison_row const& each, std::string name, std::uint32_t depth) {
    row line;
    line.depth = depth;
    bool const is_whole = each.kind == row_kind::step;
    line.is_total = is_whole;
    cell const before = each.says == verdict::added ? cell{std::string{"none"}} : cell{each.a_ms};
    cell const after = each.says == verdict::gone ? cell{std::string{"none"}} : cell{each.b_ms};
    cell range{std::string{}};
    if (each.range && each.change) {
      range.value = profkit::detail::change_cell{each.range->first, *each.change, each.range->second,
                                                 each.says == verdict::faster || each.says == verdict::slower};
    } else if (each.says == verdict::added || each.says == verdict::gone) {
      range.value = std::string{each.says == verdict::added ? "only after" : "only before"};
    }
    auto const text = [](std::string words) { return words == profkit::detail::not_measured ? cell{} : cell{std::move(words)}; };
    line.cells = {{std::move(name), each.name},
                  {std::string{each.is_gpu ? "GPU" : "host"}},
                  before,
                  after,
                  {difference_of(each)},
                  range,
                  text(each.change ? profkit::detail::change_words(*each.change) : profkit::detail::not_measured),
                  text(range_text(each.range)),
                  {word_of(each.says)}};
    return line;
  }

  /// The first heading has the kind of time of most rows, the names of the other rows have theirs, in place of a column.
  static void name_times(profkit::detail::data_table& table) {
    constexpr std::size_t time_column = 1;
    auto const time_of = [](row const& each) -> std::string const& { return std::get<std::string>(each.cells[time_column].value); };
    auto const gpu = std::count_if(table.rows.begin(), table.rows.end(), [&](row const& each) { return time_of(each) == "GPU"; });
    std::string const usual = 2 * static_cast<std::size_t>(gpu) > table.rows.size() ? "GPU" : "host";
    table.columns.front().heading += ", " + usual + " time";
    table.columns.erase(table.columns.begin() + time_column);
    for (row& each : table.rows) {
      if (time_of(each) != usual) std::get<std::string>(each.cells.front().value) += " (" + time_of(each) + ")";
      each.cells.erase(each.cells.begin() + time_column);
    }
  }

  /// "2 scopes, 0 kernels; with the step: 0 FASTER, 0 SLOWER, ...".
  [[nodiscard]] std::string counts_text() const {
    std::size_t const scopes = scope_rows();
    std::size_t kernels = 0;
    std::size_t functions = 0;
    for (comparison_row const& each : result_.rows) {
      kernels += each.kind == row_kind::kernel ? 1U : 0U;
      functions += each.kind == row_kind::function ? 1U : 0U;
    }
    std::string const sampled = functions > 0 ? fmt::format(", {} functions", functions) : std::string{};
    std::string text = result_.has_steps ? fmt::format("{} scopes, {} kernels{}; with the step:", scopes, kernels, sampled)
                                         : fmt::format("{} scopes, {} rows, no steps:", scopes, result_.rows.size());
    for (std::size_t i = 0; i < verdicts; ++i) {
      auto const says = static_cast<verdict>(i);
      text += fmt::format("{} {} {}", i == 0 ? "" : ",", result_.count(says), name_of(says));
    }
    return text;
  }

  /// A line for each row, with complete paths: what text and Markdown have instead of the trees of a page.
  [[nodiscard]] profkit::detail::data_table flat_table(bool all) const {
    using kind = profkit::detail::column_kind;
    profkit::detail::data_table table{"rows",
                                      "",
                                      {{"verdict"},
                                       {"of"},
                                       {"name", kind::code},
                                       {"time"},
                                       {"before", kind::milliseconds},
                                       {"after", kind::milliseconds},
                                       {"change", kind::change},
                                       {"effect", kind::real}},
                                      {}};
    if (!result_.has_steps) {
      table.columns.push_back({"scopes before", kind::real});
      table.columns.push_back({"scopes after", kind::real});
    }
    table.has_fixed_units = true;
    table.use = profkit::detail::block_use::text;
    auto const add = [&](comparison_row const& each) {
      cell change{};
      if (each.range && each.change) {
        change.value = profkit::detail::change_cell{each.range->first, *each.change, each.range->second,
                                                    each.says == verdict::faster || each.says == verdict::slower};
      } else if (each.change) {
        change.value = profkit::detail::change_words(*each.change);
      }
      cell const effect = each.effect ? cell{std::round(10.0 * *each.effect) / 10.0} : cell{};
      row& next = table.rows.emplace_back();
      next.cells = {{std::string{name_of(each.says)}},
                    {std::string{name_of(each.kind)}},
                    {each.name + (each.figure.empty() ? siblings_text(each) : std::string{})},
                    {(each.is_gpu ? "GPU" : "host") + (each.figure.empty() ? "" : " " + each.figure)},
                    {each.a_ms},
                    {each.b_ms},
                    change,
                    effect};
      if (!result_.has_steps) next.cells.insert(next.cells.end(), {{each.a_count}, {each.b_count}});
    };
    std::size_t member = 0;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (all || has_changed(result_.rows[i]) || result_.rows[i].kind == row_kind::step) add(result_.rows[i]);
      if (!all) {
        for (comparison_row const* const each : tree_.odd_members(i)) add(*each);
      }
      for (; all && member < result_.members.size() && result_.members[member].row == i; ++member) add(result_.members[member].scope);
    }
    table.drop_unknown_columns();
    return table;
  }

  [[nodiscard]] profkit::detail::data_table table_of(std::string name, char const* first) const {
    using kind = profkit::detail::column_kind;
    using use = profkit::detail::column_use;
    profkit::detail::data_table table{std::move(name),
                                      "",
                                      {{first},
                                       {"time", kind::text, use::wide, "GPU time of what was launched inside, or host time"},
                                       {"before", kind::milliseconds},
                                       {"after", kind::milliseconds},
                                       {"difference", kind::milliseconds},
                                       {"faster \xe2\x86\x90 \xe2\x86\x92 slower", kind::change},
                                       {"change", kind::text, use::wide},
                                       {"range", kind::text, use::wide, "in which the change lies"},
                                       {"verdict"}},
                                      {}};
    table.columns[4].is_difference = true;
    table.columns[5].margin = options_.margin;
    return table;
  }

  comparison const& result_;
  comparison_tree const& tree_;
  compare_options const& options_;
};

}  // namespace profkit_program::detail
