// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"
#include "text_width.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A table as aligned lines of at most the width of the style. If the columns do not fit, it removes ranges, shortens the first column,
/// removes bars, and removes the last columns, in this order.
class text_table {
 public:
  /// @param table must outlive this.
  /// @param title replaces the heading of the first column; may be empty.
  text_table(data_table const& table, std::string const& title, text_style const& style) : table_{table}, style_{style} {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      column const& each = table.columns[i];
      bool const is_first_bar = each.kind != column_kind::bar || std::none_of(columns_.begin(), columns_.end(), [&](std::size_t k) {
                                  return table.columns[k].kind == column_kind::bar;
                                });
      if (each.use != column_use::always || each.kind == column_kind::logarithmic_range || !is_first_bar) continue;
      columns_.push_back(i);
      numbers_.emplace_back(table, i);
    }
    title_ = title.empty() ? table.columns.front().heading : title;
  }

  /// @param rows the rows to print.
  /// @param min_depth rows of this depth have no indentation.
  [[nodiscard]] own_vector<std::string> lines(own_vector<row> const& rows, std::uint32_t min_depth = 0) {
    texts_.clear();
    for (row const& each : rows) texts_.push_back(texts_of(each, min_depth));
    leave_out_empty_columns();
    choose_widths();
    own_vector<std::string> result{line(headings(), nullptr)};
    for (std::size_t i = 0; i < rows.size(); ++i) result.push_back(line(texts_[i], &rows[i]));
    return result;
  }

 private:
  [[nodiscard]] column const& at(std::size_t position) const { return table_.columns[columns_[position]]; }

  [[nodiscard]] bool is_left_aligned(std::size_t position) const {
    column_kind const kind = at(position).kind;
    return kind == column_kind::text || kind == column_kind::code || kind == column_kind::bar || kind == column_kind::range;
  }

  [[nodiscard]] own_vector<std::string> headings() const {
    own_vector<std::string> result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      column const& each = at(i);
      std::string heading = each.kind == column_kind::bar ? legend(columns_[i]) : heading_text(each, numbers_[i]);
      if (!each.short_heading.empty()) heading = each.short_heading;
      replace_all(heading, "{}", numbers_[i].unit());
      result.push_back(printable(i == 0 ? title_ : heading, style_));
    }
    return result;
  }

  /// Removes columns that apply to no row, such as the range of siblings if there are none.
  void leave_out_empty_columns() {
    for (std::size_t i = columns_.size(); i-- > 1;) {
      bool const is_used =
          at(i).kind == column_kind::bar || std::any_of(texts_.begin(), texts_.end(), [&](auto const& row) { return !row[i].empty(); });
      if (is_used) continue;
      auto const position = static_cast<std::ptrdiff_t>(i);
      columns_.erase(columns_.begin() + position);
      numbers_.erase(numbers_.begin() + position);
      for (own_vector<std::string>& row : texts_) row.erase(row.begin() + position);
    }
  }

  /// Explains the two parts of bars.
  [[nodiscard]] std::string legend(std::size_t bars) const {
    bool const has_parts = std::any_of(table_.rows.begin(), table_.rows.end(), [&](row const& each) {
      auto const* const cell = bars < each.cells.size() ? std::get_if<bar_cell>(&each.cells[bars].value) : nullptr;
      return cell != nullptr && cell->parts.size() > 1;
    });
    if (!has_parts) return {};
    return style_.is_utf8 ? "\xe2\x96\x88 busy  \xe2\x96\x91 idle" : "# busy  . idle";
  }

  [[nodiscard]] own_vector<std::string> texts_of(row const& what, std::uint32_t min_depth) const {
    own_vector<std::string> result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      std::string text = columns_[i] < what.cells.size() ? cell_text(what.cells[columns_[i]].value, i) : std::string{};
      if (what.is_heading && columns_[i] < what.cells.size() && std::holds_alternative<std::monostate>(what.cells[columns_[i]].value))
        text.clear();
      if (i == 0 && what.depth > min_depth) text.insert(0, 2 * static_cast<std::size_t>(what.depth - min_depth), ' ');
      result.push_back(std::move(text));
    }
    return result;
  }

  [[nodiscard]] std::string cell_text(cell_value const& value, std::size_t position) const {
    if (auto const* const text = std::get_if<std::string>(&value)) return printable(*text, style_, max_shown_text);
    return std::holds_alternative<bar_cell>(value) ? std::string{} : printable(cell_words(value, numbers_[position]), style_);
  }

  /// Chooses the widths of the columns; 0: the column is left out.
  void choose_widths() {
    constexpr std::size_t min_name = 24;
    constexpr std::size_t max_bar = 24;
    constexpr std::size_t min_bar = 6;
    own_vector<std::string> const heads = headings();
    widths_.assign(columns_.size(), 0);
    std::size_t bar = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      widths_[i] = width_of(heads[i]);
      for (own_vector<std::string> const& row : texts_) widths_[i] = std::max(widths_[i], width_of(row[i]));
      if (at(i).kind == column_kind::bar && i != 0) {
        bar = i;
        widths_[i] = max_bar;
      }
    }
    auto const total = [&] {
      std::size_t sum = 0;
      for (std::size_t const width : widths_) sum += width == 0 ? 0 : width + 2;
      return sum - 2;
    };
    auto const shrink = [&](std::size_t position, std::size_t least) {
      if (position >= widths_.size() || total() <= style_.width || widths_[position] <= least) return;
      widths_[position] -= std::min(widths_[position] - least, total() - style_.width);
    };
    constexpr std::size_t good_name = 40;
    constexpr std::size_t good_bar = 14;
    shrink(bar, good_bar);
    for (std::size_t i = 1; i < columns_.size() && total() > style_.width; ++i) {  // remove ranges, such as those of siblings
      if (at(i).kind == column_kind::range) widths_[i] = 0;
    }
    shrink(0, good_name);
    shrink(bar, min_bar);
    shrink(0, min_name);
    if (bar < widths_.size() && total() > style_.width) widths_[bar] = 0;
    for (std::size_t i = columns_.size(); i-- > 1 && total() > style_.width;) widths_[i] = 0;
    shrink(0, 1);
    bar_scale_ = 0.0;
    if (bar == columns_.size()) return;
    for (row const& each : table_.rows) {
      if (each.is_heading || columns_[bar] >= each.cells.size()) continue;
      if (auto const* const cell = std::get_if<bar_cell>(&each.cells[columns_[bar]].value))
        bar_scale_ = std::max(bar_scale_, bar_length(*cell));
    }
  }

  [[nodiscard]] std::string line(own_vector<std::string> const& texts, row const* from) const {
    std::string result;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths_[i] == 0) continue;
      if (i > 0) result += "  ";
      bool const is_name = i == 0;
      std::string const text = is_name ? cut_name(texts[i], widths_[i]) : cut_at_the_end(texts[i], widths_[i]);
      if (at(i).kind == column_kind::bar && from != nullptr) {
        result += bar_of(*from, i);
      } else {
        std::string const shown = padded(text, widths_[i], !is_left_aligned(i));
        result += from == nullptr && is_name ? coloured(shown, "\x1b[1m", style_) : shown;
      }
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return result;
  }

  /// Cuts names in the middle and paths at the beginning, because paths differ in their last part. Keeps the indentation.
  static std::string cut_name(std::string const& name, std::size_t width) {
    if (width_of(name) <= width) return name;
    std::size_t const indent = std::min(name.find_first_not_of(' '), name.size());
    constexpr std::size_t min_path = 12;
    if (name.find('/') == std::string::npos || width < indent + min_path) return cut_in_the_middle(name, width);
    return name.substr(0, indent) + "..." + last_characters(name.substr(indent), width - indent - 3);
  }

  [[nodiscard]] std::string bar_of(row const& from, std::size_t position) const {
    if (columns_[position] >= from.cells.size()) return std::string(widths_[position], ' ');
    auto const* const cell = std::get_if<bar_cell>(&from.cells[columns_[position]].value);
    if (cell == nullptr) return std::string(widths_[position], ' ');
    text_style plain = style_;
    plain.has_colours = false;
    std::size_t const used = width_of(text_bar(*cell, bar_scale_, widths_[position], plain));
    return text_bar(*cell, bar_scale_, widths_[position], style_) + std::string(widths_[position] - used, ' ');
  }

  data_table const& table_;
  text_style style_;
  std::string title_;
  own_vector<std::size_t> columns_;
  own_vector<column_numbers> numbers_;
  own_vector<own_vector<std::string>> texts_;
  own_vector<std::size_t> widths_;
  double bar_scale_ = 0.0;
};

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
    append(result, labelled("ENERGY", find("energy"), 1));
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
    if (table == nullptr) return from == nullptr ? own_vector<std::string>{} : notes(*from);
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
    for (row const& each : table->rows) {  // the first kind of step
      if (each.is_heading && !rows.empty()) break;
      if (!each.is_heading) rows.push_back(each);
    }
    constexpr std::size_t max_parts = 8;
    shorten(rows, max_parts);
    own_vector<std::string> lines = text_table{*table, "WHERE THE STEP WENT", style_}.lines(rows);
    lines.insert(lines.begin(), std::string{});
    append(lines, notes(*from));
    return lines;
  }

  /// Keeps the rows with the largest times, and the last one.
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
      append(lines, wrapped(shown(fmt::format("{} below {:.{}f} %{} not shown (report=full)", counted(left_out, "row", "rows"),
                                              100.0 * min_share, min_share < 0.01 ? 1 : 0, has_root ? " of the step" : "")),
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

}  // namespace PROFKIT_NAMESPACE::detail
