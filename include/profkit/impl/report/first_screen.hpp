// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "sentence_numbers.hpp"
#include "text_bar.hpp"
#include "text_table.hpp"
#include "text_width.hpp"

namespace profkit::detail {

/// The head of a document as text: title, headline and findings. @param max_lines maximum number of lines of each of these texts.
inline own_vector<std::string> head_lines(document const& document, text_style const& style, std::size_t max_lines) {
  own_vector<std::string> result;
  auto const add = [&](std::string const& text, std::string const& first, std::string const& next, char const* colours) {
    for (std::string const& line : wrapped(printable(text, style), first, next, style.width, max_lines))
      result.push_back(colours == nullptr ? line : coloured(line, colours, style));
  };
  std::string about = document.version + "   " + document.title + " " + document.subtitle;
  replace_all(about, " \xc2\xb7 ", "   ");
  result.push_back(cut_at_the_end(without_no_break(printable(about, style)), style.width));
  result.emplace_back();
  add(document.headline + ".", "", "", "\x1b[1m");
  std::size_t number = 0;
  for (finding const& each : document.findings) {
    add(each.headline + " " + each.text, fmt::format(" {} ", ++number), "   ", nullptr);
    add(each.action, "   > ", "     ", "\x1b[36m");
  }
  return result;
}

/// Prints the first screen of a document: at most 60 lines of at most 120 columns for any program. If the space is not sufficient, kernels
/// are left out first, then small scopes. Findings are never left out.
class first_screen {
 public:
  /// @param what must outlive this.
  first_screen(document const& what, text_style const& style) : document_{what}, style_{style} {}

  /// @param files the last line, which names the written files; empty: no such line.
  [[nodiscard]] own_string text(std::string_view files) const {
    own_vector<std::string> lines;
    for (limits const& each : steps_of_shrinking) {
      lines = lines_within(each, files);
      if (lines.size() <= style_.max_lines) break;
    }
    own_string result;
    for (std::string const& line : lines) result += line + "\n";
    return result;
  }

 private:
  struct limits {
    std::size_t kernels;
    double scope_share;
  };
  static constexpr std::array<limits, 11> steps_of_shrinking{
      {{15, 0.005}, {10, 0.005}, {7, 0.005}, {7, 0.01}, {7, 0.02}, {7, 0.04}, {7, 0.08}, {5, 0.08}, {5, 0.16}, {3, 0.32}, {1, 2.0}}};
  static constexpr std::size_t share_column = 3;

  [[nodiscard]] section const* find(std::string_view id) const {
    auto const at = std::find_if(document_.sections.begin(), document_.sections.end(), [&](section const& each) { return each.id == id; });
    return at == document_.sections.end() ? nullptr : &*at;
  }

  static data_table const* table_of(section const* from, std::string_view name) {
    if (from == nullptr) return nullptr;
    for (block const& each : from->blocks) {
      auto const* const table = std::get_if<data_table>(&each);
      if (table != nullptr && table->name == name && !table->rows.empty()) return table;
    }
    return nullptr;
  }

  [[nodiscard]] std::string shown(std::string_view text) const { return printable(text, style_); }

  static void append(own_vector<std::string>& to, own_vector<std::string> lines) {
    for (std::string& line : lines) to.push_back(std::move(line));
  }

  [[nodiscard]] own_vector<std::string> lines_within(limits const& most, std::string_view files) const {
    own_vector<std::string> result;
    append(result, head_lines(document_, style_, 2));
    append(result, steps());
    append(result, budget());
    append(result, scopes(most.scope_share));
    append(result, kernels(most.kernels));
    result.emplace_back();
    if (section const* const use = find("utilization"); use != nullptr) result.push_back(units_line(*use));
    if (section const* const work = find("work"); work != nullptr) append(result, notes(*work));
    if (table_of(find("kernels"), "step_kernels") == nullptr) append(result, labelled("KERNELS", find("kernels")));
    append(result, labelled("SAMPLES", find("samples"), 1));
    append(result, labelled("MEMORY", find("memory")));
    append(result, labelled("DATA", find("quality"), 4));
    if (!files.empty()) append(result, wrapped(shown(files), "FILES    ", "         ", style_.width, 2));
    return result;
  }

  [[nodiscard]] own_vector<std::string> labelled(char const* label, section const* from, std::size_t max_lines = 2) const {
    if (from == nullptr) return {};
    return wrapped(shown(from->answer), padded(label, 9), std::string(9, ' '), style_.width, max_lines);
  }

  /// One line: all sentences if they fit, otherwise the first one.
  [[nodiscard]] std::string units_line(section const& from) const {
    auto const lines_of = [&](std::string_view text, std::size_t most) {
      return wrapped(shown(text), padded("UNITS", 9), "", style_.width, most);
    };
    own_vector<std::string> lines = lines_of(from.answer, 2);
    if (lines.size() > 1) lines = lines_of(std::string_view{from.answer}.substr(0, from.answer.find(". ")), 1);
    return lines.empty() ? std::string{} : lines.front();
  }

  /// Notes of a section that belong to the first screen.
  [[nodiscard]] own_vector<std::string> notes(section const& from) const {
    own_vector<std::string> result;
    for (block const& each : from.blocks) {
      auto const* const text = std::get_if<note>(&each);
      if (text != nullptr && text->is_essential) append(result, wrapped(shown(text->text), "", "  ", style_.width, 2));
    }
    return result;
  }

  [[nodiscard]] own_vector<std::string> steps() const {
    section const* const from = find("steps");
    data_table const* const table = table_of(from, "step_kinds");
    if (table == nullptr) return {};
    std::string const unit = column_numbers{*table, 2}.unit();
    own_vector<std::string> lines = text_table{*table, "STEPS, " + unit, style_}.lines(table->rows);
    for (block const& each : from->blocks) {
      auto const* const picture = std::get_if<figure>(&each);
      auto const* const series = picture == nullptr ? nullptr : std::get_if<steps_figure>(&picture->content);
      if (series != nullptr) add_curves(lines, *table, *series);
    }
    lines.insert(lines.begin(), std::string{});
    append(lines, notes(*from));
    return lines;
  }

  /// Adds the curves of the usual steps and of the warm-up steps to their lines.
  void add_curves(own_vector<std::string>& lines, data_table const& table, steps_figure const& series) const {
    constexpr std::size_t min_curve = 8;
    constexpr std::size_t max_curve = 36;
    std::size_t used = 0;
    for (std::string const& line : lines) used = std::max(used, width_of(line));
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      bool const is_warmup = i > 0 && i + 1 == table.rows.size() && table.rows[i].is_quiet;
      if (i != 0 && !is_warmup) continue;
      own_vector<double> values;
      for (plotted_step const& each : series.steps) {
        bool const is_usual = each.is == plotted_step::role::usual || each.is == plotted_step::role::outlier;
        if (is_warmup ? each.is == plotted_step::role::warmup : is_usual) values.push_back(each.ms);
      }
      constexpr std::size_t min_values = 3;
      if (values.size() < min_values) continue;
      auto const [low, high] = std::minmax_element(values.begin(), values.end());
      column_numbers const numbers{table, 2};
      std::string const range = is_warmup ? std::string{} : "  " + numbers.text(*low) + " to " + numbers.text(*high);
      std::size_t const room = style_.width - std::min(style_.width, used + 2 + width_of(range));
      if (room < min_curve) continue;
      std::string const curve = text_curve(values, std::min(room, max_curve), style_);
      if (curve.empty()) continue;
      lines[i + 1] =
          padded(lines[i + 1], used) + "  " + coloured(curve, ansi_colour(is_warmup ? colour::neutral : colour::busy), style_) + range;
    }
  }

  [[nodiscard]] own_vector<std::string> budget() const {
    section const* const from = find("budget");
    data_table const* const table = table_of(from, "budget");
    if (table == nullptr) return {};
    own_vector<row> rows;
    for (row const& each : table->rows) {
      if (each.is_heading) continue;
      rows.push_back(each);
      if (each.is_total) break;
    }
    constexpr std::size_t max_parts = 8;
    shorten(rows, max_parts);
    own_vector<std::string> lines = text_table{*table, "WHERE THE STEP WENT", style_}.lines(rows);
    lines.insert(lines.begin(), std::string{});
    append(lines, notes(*from));
    return lines;
  }

  /// Keeps the rows with the largest times, and the total.
  static void shorten(own_vector<row>& rows, std::size_t max_parts) {
    constexpr std::size_t time_column = 1;
    if (rows.size() <= max_parts + 1) return;
    auto const kept_parts = static_cast<std::ptrdiff_t>(max_parts);
    own_vector<std::pair<double, std::size_t>> by_time;  // time and position of each row but the total
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) by_time.emplace_back(number_in(rows[i], time_column), i);
    std::nth_element(by_time.begin(), by_time.end() - kept_parts, by_time.end());
    own_vector<std::size_t> kept{rows.size() - 1};
    for (auto each = by_time.end() - kept_parts; each != by_time.end(); ++each) kept.push_back(each->second);
    std::sort(kept.begin(), kept.end());
    own_vector<row> result;
    for (std::size_t const each : kept) result.push_back(std::move(rows[each]));
    rows = std::move(result);
  }

  static double number_in(row const& from, std::size_t position) {
    double const* const number = position < from.cells.size() ? std::get_if<double>(&from.cells[position].value) : nullptr;
    return number == nullptr ? 0.0 : *number;
  }

  [[nodiscard]] own_vector<std::string> scopes(double min_share) const {
    section const* const from = find("scopes");
    data_table const* const table = table_of(from, "scope_tree");
    if (table == nullptr) return {};
    own_vector<row> rows;
    std::size_t left_out = 0;
    bool const has_root = table->rows.front().is_heading;
    for (std::size_t i = has_root ? 1 : 0; i < table->rows.size() && !table->rows[i].is_heading; ++i) {
      row const& each = table->rows[i];
      if (each.is_quiet || number_in(each, share_column) < min_share) {
        left_out += each.stands_for;
      } else {
        rows.push_back(each);
      }
    }
    own_vector<std::string> lines = text_table{*table, title("SCOPES", *table), style_}.lines(rows, has_root ? 1 : 0);
    lines.insert(lines.begin(), std::string{});
    if (left_out > 0) {
      append(lines, wrapped(shown(fmt::format("{}below {:.{}f} % of the step are not shown (report=full)",
                                              counted(left_out, "row ", "rows "), 100.0 * min_share, min_share < 0.01 ? 1 : 0)),
                            "", "  ", style_.width, 1));
    }
    return lines;
  }

  static std::string title(std::string const& text, data_table const& table) {
    return table.caption.empty() ? text : text + " (" + table.caption + ")";
  }

  [[nodiscard]] own_vector<std::string> kernels(std::size_t max_kernels) const {
    data_table const* const table = table_of(find("kernels"), "step_kernels");
    if (table == nullptr) return {};
    own_vector<row> rows;
    row rest;
    std::size_t others = 0;
    double ms = 0.0;
    double share = 0.0;
    constexpr std::size_t time_column = 2;
    for (row const& each : table->rows) {
      if (rows.size() < max_kernels && !each.is_quiet) {
        rows.push_back(each);
        continue;
      }
      others += each.stands_for;
      ms += number_in(each, time_column);
      share += number_in(each, share_column);
    }
    if (others > 0) {
      rest.cells = {{counted(others, "more kernel", "more kernels"), {}}, {std::string{}, {}}, {ms, {}}, {share, {}}};
      rest.is_quiet = true;
      rows.push_back(std::move(rest));
    }
    own_vector<std::string> lines = text_table{*table, title("KERNELS", *table), style_}.lines(rows);
    lines.insert(lines.begin(), std::string{});
    return lines;
  }

  document const& document_;
  text_style style_;
};

}  // namespace profkit::detail
