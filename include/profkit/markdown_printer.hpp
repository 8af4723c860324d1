// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Tables and documents of reports in Markdown. Names in `profkit::detail` may change.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "document.hpp"
#include "impl/profile/own_memory.hpp"
#include "impl/report/numbers.hpp"
#include "impl/report/shown_text.hpp"
#include "impl/report/text_width.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
    bool const is_blank = from.is_heading && std::holds_alternative<std::monostate>(value);
    return is_blank ? std::string{} : cell_words(value, numbers);
  }

  own_vector<std::string> headings_;
  own_vector<bool> is_left_aligned_;
  own_vector<line> lines_;
  std::string rest_;
};

/// Converts a text of any bytes to one line of Markdown. Templates would be read as HTML, pointers as emphasis, brackets as links.
inline std::string markdown_text(std::string_view text, std::size_t max_bytes = max_shown_reason) {
  std::string result;
  for (char const c : without_no_break(one_line(text, max_bytes))) {
    if (std::string_view{"|<*`\\[&"}.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// A table with its caption.
inline own_string markdown_of(data_table const& what) {
  listed_table const table{what};
  own_string text = what.caption.empty() ? "" : "### " + markdown_text(what.caption) + "\n\n";
  for (std::string const& each : table.headings()) text += "| " + markdown_text(each) + " ";
  text += "|\n";
  for (std::size_t i = 0; i < table.headings().size(); ++i) text += table.is_left_aligned(i) ? "|---" : "|---:";
  text += "|\n";
  for (listed_table::line const& line : table.lines()) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      text += "| ";
      for (std::size_t k = 0; i == 0 && k < line.depth; ++k) text += "&nbsp;&nbsp;";
      text += markdown_text(line.cells[i], max_shown_text) + " ";
    }
    text += "|\n";
  }
  return text + "\n" + (table.rest().empty() ? "" : markdown_text(table.rest()) + "\n\n");
}

inline own_string markdown_paragraph(std::string_view text) {
  return text.empty() ? own_string{} : markdown_text(text) + own_string{"\n\n"};
}

inline own_string markdown_of(section const& what) {
  own_string text = "\n## " + markdown_text(what.title) + "\n\n" + markdown_paragraph(what.answer);
  bool is_list = false;
  for (block const* const each : blocks_of(what, block_use::pages)) {
    if (auto const* const words = std::get_if<note>(each)) {
      text += "* " + markdown_text(words->text.substr(std::min(words->text.find_first_not_of(' '), words->text.size()))) + "\n";
      is_list = true;
    } else if (auto const* const table = std::get_if<data_table>(each)) {
      text += (is_list ? "\n" : "") + markdown_of(*table);
      is_list = false;
    }
  }
  return text;
}

/// A document: all sections with their tables and notes, without figures and their explanations.
inline own_string markdown_of(document const& what) {
  own_string text = "# " + markdown_text(what.title) + "\n\n" + markdown_paragraph(what.version + ", " + what.subtitle + ".") +
                    markdown_paragraph(what.headline + ".");
  for (finding const& each : what.findings) {
    text += "1. **" + markdown_text(each.headline) + "** " + markdown_text(each.text) +
            (each.action.empty() ? "" : " " + markdown_text(each.action)) + "\n";
  }
  text += what.findings.empty() ? "" : "\n";
  for (key_figure const& each : what.key_figures) {
    text += "* " + markdown_text(each.name) + ": " + (each.value.empty() ? std::string{not_measured} : markdown_text(each.value)) +
            (each.note.empty() ? "" : " (" + markdown_text(each.note) + ")") + "\n";
  }
  for (section const& each : what.sections) text += markdown_of(each);
  return text;
}

}  // namespace PROFKIT_NAMESPACE::detail
