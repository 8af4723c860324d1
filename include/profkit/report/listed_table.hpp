// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "../profile/own_memory.hpp"
#include "change_words.hpp"
#include "column_numbers.hpp"
#include "document.hpp"
#include "number_format.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// A table as text, as full text and Markdown print it: without bars, and without columns that apply to no row.
class listed_table {
 public:
  struct line {
    own_vector<std::string> cells;  ///< one per column; may contain any bytes
    std::uint32_t depth = 0;
    bool is_heading = false;
  };

  explicit listed_table(data_table const& table) {
    lines_.resize(std::min(table.rows.size(), table.listed_rows));
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      lines_[i].depth = table.rows[i].depth;
      lines_[i].is_heading = table.rows[i].is_heading;
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (is_listed(table.columns[i])) add_column(table, i);
    }
    if (lines_.size() < table.rows.size()) rest_ = table.folded_label;
  }

  [[nodiscard]] own_vector<std::string> const& headings() const noexcept { return headings_; }
  [[nodiscard]] bool is_left_aligned(std::size_t column) const { return is_left_aligned_[column]; }
  [[nodiscard]] own_vector<line> const& lines() const noexcept { return lines_; }
  /// The sentence about the rows that are not listed; empty if all are listed.
  [[nodiscard]] std::string const& rest() const noexcept { return rest_; }

 private:
  static constexpr std::size_t max_code = 100;

  static bool is_listed(column const& column) {
    bool const is_picture = column.kind == column_kind::bar || column.kind == column_kind::logarithmic_range;
    return !is_picture && column.use != column_use::page && column.use != column_use::file;
  }

  void add_column(data_table const& table, std::size_t position) {
    column const& column = table.columns[position];
    column_numbers const numbers{table, position};
    own_vector<std::string> words;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      row const& from = table.rows[i];
      words.push_back(position < from.cells.size() ? words_of(from, from.cells[position].value, column, numbers) : std::string{});
    }
    if (position > 0 && std::all_of(words.begin(), words.end(), [](std::string const& each) { return each.empty(); })) return;
    headings_.push_back(heading_text(column, numbers));
    is_left_aligned_.push_back(column.kind == column_kind::text || column.kind == column_kind::code || column.kind == column_kind::range ||
                               column.kind == column_kind::change);
    for (std::size_t i = 0; i < lines_.size(); ++i) lines_[i].cells.push_back(std::move(words[i]));
  }

  static std::string words_of(row const& from, cell_value const& value, column const& column, column_numbers const& numbers) {
    if (auto const* const text = std::get_if<std::string>(&value))
      return column.kind == column_kind::code ? shortened(*text, max_code) : *text;
    if (double const* const number = std::get_if<double>(&value)) return numbers.text(*number);
    if (auto const* const range = std::get_if<range_cell>(&value)) {
      return numbers.text(range->low) + "-" + numbers.text(range->high) + (range->remark.empty() ? "" : ", " + range->remark);
    }
    if (auto const* const change = std::get_if<change_cell>(&value)) return change_words(*change);
    return from.is_heading ? std::string{} : not_measured;
  }

  own_vector<std::string> headings_;
  own_vector<bool> is_left_aligned_;
  own_vector<line> lines_;
  std::string rest_;
};

}  // namespace profkit::detail
