// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <profkit/csv_printer.hpp>
#include <profkit/document.hpp>
#include <profkit/markdown_printer.hpp>
#include <profkit/text_printer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace trainer {

/// A table of texts, printed by the table printers of profkit's reports.
class string_table {
 public:
  /// @param headings one per column.
  /// @param text_columns number of leading columns that are left-aligned; the others are right-aligned.
  explicit string_table(std::vector<std::string> headings, std::size_t text_columns = 1) {
    using profkit::detail::column_kind;
    for (std::string& each : headings)
      content_.columns.push_back({std::move(each), content_.columns.size() < text_columns ? column_kind::text : column_kind::real});
  }

  /// Adds a row.
  /// @param cells one per column; missing cells are empty. In the first cell, each two leading blanks are a level of a tree.
  void add(std::vector<std::string> cells) {
    cells.resize(content_.columns.size());
    profkit::detail::row& next = content_.rows.emplace_back();
    std::size_t const indent = std::min(cells.front().find_first_not_of(' '), cells.front().size());
    next.depth = static_cast<std::uint32_t>(indent / 2);
    cells.front().erase(0, 2 * std::size_t{next.depth});
    for (std::string& each : cells) next.cells.emplace_back().value = std::move(each);
  }

  [[nodiscard]] std::size_t columns() const noexcept { return content_.columns.size(); }
  [[nodiscard]] bool empty() const noexcept { return content_.rows.empty(); }

  /// Formatted for a terminal, without rows and columns in which no figure was measured.
  [[nodiscard]] std::string to_text() const {
    profkit::detail::data_table shown = content_;
    auto& rows = shown.rows;
    auto const has_figure = [&](profkit::detail::row const& each) {
      return std::any_of(each.cells.begin(), each.cells.end(), is_figure) || std::none_of(each.cells.begin(), each.cells.end(), is_unknown);
    };
    rows.erase(std::remove_if(rows.begin(), rows.end(), [&](auto const& each) { return !has_figure(each); }), rows.end());
    for (profkit::detail::row& each : rows) {
      for (profkit::detail::cell& cell : each.cells) {
        if (is_unknown(cell)) cell.value = std::monostate{};
      }
    }
    shown.drop_unknown_columns();
    return profkit::detail::text_of(shown, {});
  }
  [[nodiscard]] std::string to_markdown() const {
    std::string text = profkit::detail::markdown_of(content_);
    text.pop_back();  // removes the empty line after the table
    return text;
  }
  [[nodiscard]] std::string to_csv() const { return profkit::detail::csv_of(content_); }

 private:
  static bool is_unknown(profkit::detail::cell const& each) { return std::get<std::string>(each.value) == profkit::detail::not_measured; }
  static bool is_figure(profkit::detail::cell const& each) {
    std::string const& text = std::get<std::string>(each.value);
    return !text.empty() && text.find_first_not_of("0123456789.,-% ") == std::string::npos;
  }

  profkit::detail::data_table content_;
};

}  // namespace trainer
