// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Tables of reports as CSV. Names in `profkit::detail` may change.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "document.hpp"
#include "impl/profile/own_memory.hpp"
#include "impl/report/numbers.hpp"
#include "impl/report/shown_text.hpp"

namespace profkit::detail {

/// A line of CSV (RFC 4180): cells with a comma, quote or line break are quoted. Bytes that are not UTF-8 become U+FFFD.
inline std::string csv_line(own_vector<std::string> const& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string const cell = as_utf8(cells[i]);
    if (i > 0) line += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (char const c : cell) line += c == '"' ? std::string_view{"\"\""} : std::string_view{&c, 1};
    line += '"';
  }
  return line + "\n";
}

/// @brief Prints a table as CSV: all rows with complete names and fixed units. The first cell is indented by the depth of its row.
class csv_printer {
 public:
  /// @brief Creates a printer.
  /// @param table must outlive this.
  explicit csv_printer(data_table const& table) : table_{table} {}

  /// @brief The text of the table, with a header line.
  [[nodiscard]] own_string print() const {
    own_vector<std::string> cells;
    own_vector<column_numbers> numbers;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      numbers.emplace_back(table_, i, true);
      if (is_printed(i)) cells.push_back(heading_text(table_.columns[i], numbers[i]));
    }
    own_string result = csv_line(cells);
    for (row const& each : table_.rows) {
      cells.clear();
      for (std::size_t i = 0; i < table_.columns.size(); ++i) {
        if (!is_printed(i)) continue;
        std::string const indent(i == 0 ? std::size_t{2} * each.depth : 0, ' ');
        cells.push_back(indent + (i < each.cells.size() ? text(each.cells[i], numbers[i]) : std::string{}));
      }
      result += csv_line(cells);
    }
    return result;
  }

 private:
  /// Bar columns are omitted, because bars repeat numbers of other columns.
  [[nodiscard]] bool is_printed(std::size_t column) const { return table_.columns[column].kind != column_kind::bar; }

  /// The complete text, which a cell with a shortened text has as its detail.
  static std::string text(cell const& cell, column_numbers const& numbers) {
    if (auto const* const words = std::get_if<std::string>(&cell.value)) return cell.detail.empty() ? *words : cell.detail;
    if (auto const* const number = std::get_if<double>(&cell.value)) return numbers.text(*number);
    if (auto const* const range = std::get_if<range_cell>(&cell.value))
      return numbers.text(range->low) + " to " + numbers.text(range->high);
    if (auto const* const change = std::get_if<change_cell>(&cell.value)) return numbers.text(change->change);
    return not_measured;
  }

  data_table const& table_;
};

/// The table as CSV.
inline own_string csv_of(data_table const& table) { return csv_printer{table}.print(); }

/// A CSV file with its name.
struct named_csv {
  std::string name;    ///< such as "scopes.csv"
  own_string content;  ///< all lines, with a header line
};

}  // namespace profkit::detail
