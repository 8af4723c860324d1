// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "column_numbers.hpp"
#include "text_bar.hpp"
#include "text_width.hpp"

namespace profkit::detail {

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
    if (auto const* const number = std::get_if<double>(&value)) return printable(numbers_[position].text(*number), style_);
    if (auto const* const range = std::get_if<range_cell>(&value)) {
      std::string text = numbers_[position].text(range->low) + "-" + numbers_[position].text(range->high);
      if (!range->remark.empty()) text += ", " + range->remark;
      return printable(text, style_);
    }
    return std::holds_alternative<bar_cell>(value) ? std::string{} : not_measured;
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

}  // namespace profkit::detail
