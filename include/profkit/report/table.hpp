// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shown_text.hpp"

namespace profkit {

/// @brief A table of text cells that can be written as aligned text, Markdown or CSV. Cells may contain any bytes: text and Markdown show
/// each row as one line, with `detail::one_line` of the cells; CSV contains the complete cells.
class table {
 public:
  /// @brief Creates a table without rows.
  /// @param headings one per column.
  /// @param text_columns number of first columns that are aligned left; the others are aligned right.
  explicit table(std::vector<std::string> headings, std::size_t text_columns = 1)
      : headings_{std::move(headings)}, text_columns_{text_columns} {}

  /// @brief Adds a row.
  /// @param cells one per column; missing cells are empty.
  void add(std::vector<std::string> cells) {
    cells.resize(headings_.size());
    rows_.push_back(std::move(cells));
  }

  /// @brief The number of columns.
  [[nodiscard]] std::size_t columns() const noexcept { return headings_.size(); }
  /// @brief Whether the table has no rows.
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// @brief The table with aligned columns, for a terminal.
  [[nodiscard]] std::string to_text() const {
    std::vector<std::vector<std::string>> const rows = shown_rows();
    std::vector<std::size_t> const widths = column_widths(rows);
    std::string result = text_line(headings_, widths);
    std::size_t total = 2 * (widths.size() - 1);
    for (std::size_t const width : widths) total += width;
    result += std::string(total, '-') + "\n";
    for (auto const& row : rows) result += text_line(row, widths);
    return result;
  }

  /// @brief The table in Markdown. Characters with a meaning in Markdown are escaped.
  [[nodiscard]] std::string to_markdown() const {
    std::string result = markdown_line(headings_);
    for (std::size_t column = 0; column < headings_.size(); ++column) result += column < text_columns_ ? "|---" : "|---:";
    result += "|\n";
    for (auto const& row : shown_rows()) result += markdown_line(row);
    return result;
  }

  /// @brief The table as CSV (RFC 4180): cells with a comma, quote or line break are quoted. Bytes that are not UTF-8 become U+FFFD.
  [[nodiscard]] std::string to_csv() const {
    std::string result = csv_line(headings_);
    for (auto const& row : rows_) result += csv_line(row);
    return result;
  }

 private:
  /// The width on a terminal: continuation bytes of UTF-8 take no column.
  static std::size_t width_of(std::string_view cell) {
    return static_cast<std::size_t>(
        std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
  }

  [[nodiscard]] std::vector<std::vector<std::string>> shown_rows() const {
    std::vector<std::vector<std::string>> result = rows_;
    for (auto& row : result) {
      for (std::string& cell : row) cell = detail::one_line(cell);
    }
    return result;
  }

  [[nodiscard]] std::vector<std::size_t> column_widths(std::vector<std::vector<std::string>> const& rows) const {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < headings_.size(); ++column) {
      std::size_t width = width_of(headings_[column]);
      for (auto const& row : rows) width = std::max(width, width_of(row[column]));
      widths.push_back(width);
    }
    return widths;
  }

  [[nodiscard]] std::string text_line(std::vector<std::string> const& cells, std::vector<std::size_t> const& widths) const {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      std::string const padding(widths[column] - width_of(cells[column]), ' ');
      line += column == 0 ? "" : "  ";
      line += column < text_columns_ ? cells[column] + padding : padding + cells[column];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  static std::string markdown_line(std::vector<std::string> const& cells) {
    std::string line;
    for (std::string const& cell : cells) {
      line += "| ";
      // Leading spaces, which indent the tree of scopes, would be lost.
      std::size_t const indent = std::min(cell.find_first_not_of(' '), cell.size());
      for (std::size_t i = 0; i < indent; ++i) line += "&nbsp;";
      // Templates would be read as HTML, pointers as emphasis, brackets as links.
      for (char const c : cell.substr(indent)) {
        if (std::string_view{"|<*`\\[&"}.find(c) != std::string_view::npos) line += '\\';
        line += c;
      }
      line += " ";
    }
    return line + "|\n";
  }

  static std::string csv_line(std::vector<std::string> const& cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      std::string const cell = detail::as_utf8(cells[column]);
      if (column > 0) line += ',';
      if (cell.find_first_of(",\"\r\n") == std::string::npos) {
        line += cell;
        continue;
      }
      line += '"';
      for (char const c : cell) line += c == '"' ? "\"\"" : std::string(1, c);
      line += '"';
    }
    return line + "\n";
  }

  std::vector<std::string> headings_;
  std::size_t text_columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace profkit
