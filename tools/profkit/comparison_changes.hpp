// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/report/change_words.hpp>
#include <profkit/report/column_numbers.hpp>
#include <profkit/report/document.hpp>
#include <profkit/report/number_format.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "comparison_tree.hpp"
#include "comparison_words.hpp"

namespace profkit_program::detail {

/// The sections of a comparison that list its rows: the parts of the difference, and all changes.
class comparison_changes {
 public:
  /// @param result, tree, options must outlive this.
  comparison_changes(comparison const& result, comparison_tree const& tree, compare_options const& options)
      : result_{result}, tree_{tree}, options_{options} {}

  /// The parts of the step, if their times add up to it: host times do.
  [[nodiscard]] std::optional<profkit::detail::section> where_from() const {
    if (tree_.step() == nullptr) return std::nullopt;
    comparison_row const* const whole = tree_.whole_of_parts();
    profkit::detail::section section{"parts", "Where the change comes from", {}, {}, {}};
    profkit::detail::waterfall_figure figure{whole->a_ms, whole->b_ms, {}};
    profkit::detail::data_table table = parts_table();
    profkit::detail::column_numbers const numbers{profkit::detail::column_kind::milliseconds, std::max(whole->a_ms, whole->b_ms)};
    auto const label_of = [&](double ms) { return (ms > 0.0 ? "+" : "") + numbers.text(ms) + "\xc2\xa0" + numbers.unit(); };
    double rest = difference_of(*whole);
    double small = 0.0;
    bool adds_up = !whole->is_gpu;
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      comparison_row const& each = result_.rows[i];
      if (each.kind != row_kind::scope || !each.figure.empty() || tree_.parent(i) == none || !tree_.is_step_scope(tree_.parent(i)))
        continue;
      adds_up = adds_up && !each.is_gpu;
      double const difference = difference_of(each);
      rest -= difference;
      if (std::abs(difference) < 0.0005 * std::max(whole->a_ms, whole->b_ms)) {
        small += difference;
        continue;
      }
      figure.parts.push_back({tree_.name_of_row(i), difference, has_changed(each), label_of(difference) + " " + word_of(each.says)});
      table.rows.push_back({{{tree_.name_of_row(i)}, {each.a_ms}, {each.b_ms}, {difference}, {word_of(each.says)}}});
    }
    if (!adds_up) {
      section.answer =
          "n/a: scopes are compared by GPU time, which does not add up to the step. Use --metric host to see the parts of the step on the "
          "host.";
      return section;
    }
    if (figure.parts.empty()) {
      section.answer = "No part of the step changed by 0.05\xc2\xa0% of it or more.";
      return section;
    }
    if (small != 0.0 || rest != 0.0) {
      figure.parts.push_back({"other", small + rest, false, label_of(small + rest)});
      double before = whole->a_ms;
      double after = whole->b_ms;
      for (row const& each : table.rows) {
        before -= std::get<double>(each.cells[1].value);
        after -= std::get<double>(each.cells[2].value);
      }
      table.rows.push_back({{{std::string{"other"}}, {before}, {after}, {small + rest}, {std::string{}}}});
    }
    table.rows.push_back({{{std::string{"step"}}, {whole->a_ms}, {whole->b_ms}, {difference_of(*whole)}, {word_of(whole->says)}}});
    table.rows.back().is_total = true;
    auto const order = std::minmax_element(figure.parts.begin(), figure.parts.end(),
                                           [](auto const& a, auto const& b) { return a.difference < b.difference; });
    section.answer = fmt::format("{} in {}, {} in {}: {} together.", signed_time(order.first->difference), order.first->name,
                                 signed_time(order.second->difference), order.second->name, signed_time(difference_of(*whole)));
    if (figure.parts.size() == 1)
      section.answer = fmt::format("{} in {}.", signed_time(figure.parts.front().difference), figure.parts.front().name);
    section.how_to_read =
        "Milliseconds a step; the parts add up to the difference of the two means. The axis does not begin at 0. Parts below 0.05\xc2\xa0% "
        "of the step are in \"other\".";
    if (result_.is_usual_step) section.how_to_read += " All are means of all measured steps, with those of other kinds.";
    section.blocks.emplace_back(profkit::detail::figure{section.answer, std::move(figure)});
    section.blocks.emplace_back(std::move(table));
    return section;
  }

  /// Changed rows with the scopes around them, in the order of the tree; then changed kernels and functions; then all other rows, by size.
  [[nodiscard]] profkit::detail::section all_changes(bool all) const {
    std::vector<bool> shown(result_.rows.size(), false);
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (!has_changed(result_.rows[i]) && result_.rows[i].kind != row_kind::step) continue;
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
        kernels.rows.push_back(row_of(i, 0, true));
      } else if (result_.rows[i].kind == row_kind::function) {
        functions.rows.push_back(row_of(i, 0, true));
      } else {
        if (tree_.is_row_of_step(i)) continue;
        scopes.rows.push_back(row_of(i, tree_.depth_in_table(i), false));
      }
    }
    kernels.columns.front().kind = functions.columns.front().kind = profkit::detail::column_kind::code;
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
      return std::max(result_.rows[a].a_ms, result_.rows[a].b_ms) > std::max(result_.rows[b].a_ms, result_.rows[b].b_ms);
    });
    profkit::detail::data_table rest = table_of("other_rows", "scope, kernel or function");
    add_others(rest, others);
    rest.shown_rows = 0;
    rest.folded_label = fmt::format("{} rows without a change that can be told", others.size());

    profkit::detail::section section{"changes", "All changes", {}, {}, {}};
    section.answer = fmt::format("{} rows are faster, {} slower, {} new, {} gone; {} are the same and {} unsure.",
                                 result_.count(verdict::faster), result_.count(verdict::slower), result_.count(verdict::added),
                                 result_.count(verdict::gone), result_.count(verdict::same), result_.count(verdict::unsure));
    section.how_to_read = fmt::format(
        "Dot: change of the mean; line: range in which it lies, {} for the step and for all {} other rows at once. Filled dots: the range "
        "excludes 0. Grey band: {}{}, "
        "which does not matter. Arrow: the range goes on. The axis is logarithmic, so half and twice the time are equally far from 0.",
        plain_percent(1.0 - options_.error_rate), result_.judged, plus_minus, plain_percent(options_.margin));
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
  /// The numbers of the picture.
  [[nodiscard]] static profkit::detail::data_table parts_table() {
    using kind = profkit::detail::column_kind;
    profkit::detail::data_table table{
        "parts",
        "",
        {{"part"}, {"before", kind::milliseconds}, {"after", kind::milliseconds}, {"difference", kind::milliseconds}, {"verdict"}},
        {}};
    table.columns[3].is_difference = true;
    table.shown_rows = 0;
    table.folded_label = "The parts as a table";
    table.use = profkit::detail::block_use::pages;
    return table;
  }

  static constexpr std::size_t none = comparison_tree::none;
  static constexpr char const* plus_minus = "\xc2\xb1";

  using cell = profkit::detail::cell;
  using row = profkit::detail::row;

  [[nodiscard]] row row_of(std::size_t position, std::uint32_t depth, bool with_path) const {
    comparison_row const& each = result_.rows[position];
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
    line.cells = {{with_path ? each.name + (each.figure.empty() ? "" : " (" + each.figure + ")") : tree_.name_of_row(position), each.name},
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

  /// Adds rows without a change. Three or more numbered siblings are one row with their sums: "step/layer_*/attention x 12".
  void add_others(profkit::detail::data_table& to, std::vector<std::size_t> const& others) const {
    auto const key_of = [&](comparison_row const& each) { return std::pair{each.family, each.is_gpu}; };
    std::map<std::pair<std::string, bool>, std::vector<std::size_t>> families;
    for (std::size_t const each : others) {
      comparison_row const& one = result_.rows[each];
      if (one.kind == row_kind::scope && one.figure.empty() && one.family != one.name) families[key_of(one)].push_back(each);
    }
    constexpr std::size_t min_siblings = 3;
    for (std::size_t const each : others) {
      comparison_row const& one = result_.rows[each];
      auto const found = one.figure.empty() ? families.find(key_of(one)) : families.end();
      if (one.kind != row_kind::scope || found == families.end() || found->second.size() < min_siblings) {
        to.rows.push_back(row_of(each, 0, true));
      } else if (found->second.front() == each) {
        to.rows.push_back(row_of_family(found->second));
      }
    }
  }

  /// The sums of numbered siblings, and how many of them are the same and unsure.
  [[nodiscard]] row row_of_family(std::vector<std::size_t> const& positions) const {
    double before = 0.0;
    double after = 0.0;
    std::size_t same = 0;
    for (std::size_t const position : positions) {
      before += result_.rows[position].a_ms;
      after += result_.rows[position].b_ms;
      same += result_.rows[position].says == verdict::same ? 1U : 0U;
    }
    comparison_row const& one = result_.rows[positions.front()];
    std::size_t const unsure = positions.size() - same;
    std::string const verdicts = same == 0     ? fmt::format("{} unsure", unsure)
                                 : unsure == 0 ? fmt::format("{} same", same)
                                               : fmt::format("{} same, {} unsure", same, unsure);
    row line;
    line.stands_for = positions.size();
    line.cells = {{fmt::format("{} \xc3\x97 {}", one.family, positions.size())},
                  {std::string{one.is_gpu ? "GPU" : "host"}},
                  {before},
                  {after},
                  {after - before},
                  {std::string{}},
                  before > 0.0 ? cell{profkit::detail::change_words(after / before - 1.0)} : cell{},
                  {std::string{}},
                  {verdicts}};
    return line;
  }

  /// "2 scopes, 0 kernels; with the step: 0 FASTER, 0 SLOWER, ...".
  [[nodiscard]] std::string counts_text() const {
    std::size_t scopes = 0;
    std::size_t kernels = 0;
    std::size_t functions = 0;
    for (comparison_row const& each : result_.rows) {
      scopes += each.kind == row_kind::scope && each.figure.empty() ? 1U : 0U;
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
    for (comparison_row const& each : result_.rows) {
      if (!all && !has_changed(each) && each.kind != row_kind::step) continue;
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
                    {each.name},
                    {(each.is_gpu ? "GPU" : "host") + (each.figure.empty() ? "" : " " + each.figure)},
                    {each.a_ms},
                    {each.b_ms},
                    change,
                    effect};
      if (!result_.has_steps) next.cells.insert(next.cells.end(), {{each.a_count}, {each.b_count}});
    }
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
