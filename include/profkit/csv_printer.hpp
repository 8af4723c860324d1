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

namespace PROFKIT_NAMESPACE::detail {

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

/// The complete text of a cell, which a shortened text has as its detail.
inline std::string csv_text(cell const& cell, column_numbers const& numbers) {
  if (auto const* const words = std::get_if<std::string>(&cell.value)) return cell.detail.empty() ? *words : cell.detail;
  if (auto const* const number = std::get_if<double>(&cell.value)) return numbers.text(*number);
  if (auto const* const range = std::get_if<range_cell>(&cell.value)) return numbers.text(range->low) + " to " + numbers.text(range->high);
  if (auto const* const change = std::get_if<change_cell>(&cell.value)) return numbers.text(change->change);
  return not_measured;
}

/// A table as CSV: a header line, and all rows with complete names and fixed units. The first cell is indented by the depth of its row.
/// Bar columns are omitted, because bars repeat numbers of other columns.
inline own_string csv_of(data_table const& table) {
  own_vector<std::size_t> positions;
  own_vector<column_numbers> numbers;
  own_vector<std::string> cells;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].kind == column_kind::bar) continue;
    positions.push_back(i);
    numbers.emplace_back(table, i, true);
    cells.push_back(heading_text(table.columns[i], numbers.back()));
  }
  own_string result = csv_line(cells);
  for (row const& each : table.rows) {
    for (std::size_t k = 0; k < positions.size(); ++k) {
      std::size_t const i = positions[k];
      cells[k].assign(i == 0 ? std::size_t{2} * each.depth : 0, ' ');
      if (i < each.cells.size()) cells[k] += csv_text(each.cells[i], numbers[k]);
    }
    result += csv_line(cells);
  }
  return result;
}

/// A CSV file with its name.
struct named_csv {
  std::string name;    ///< such as "scopes.csv"
  own_string content;  ///< all lines, with a header line
};

}  // namespace PROFKIT_NAMESPACE::detail
