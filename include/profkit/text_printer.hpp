// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Tables and documents of reports for a terminal. Names in `profkit::detail` may change.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "document.hpp"
#include "impl/profile/own_memory.hpp"
#include "impl/report/first_screen.hpp"
#include "impl/report/text_width.hpp"
#include "markdown_printer.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A table with its caption, as aligned lines without a length limit.
inline own_string text_of(data_table const& what, text_style const& style) {
  auto const shown = [&](std::string_view text, std::size_t max_bytes = max_shown_reason) {
    return without_no_break(printable(text, style, max_bytes));
  };
  listed_table const table{what};
  own_vector<own_vector<std::string>> lines(1);
  for (std::string const& each : table.headings()) lines.front().push_back(shown(each));
  for (listed_table::line const& line : table.lines()) {
    lines.emplace_back();
    for (std::string const& each : line.cells) lines.back().push_back(shown(each, max_shown_text));
    lines.back().front().insert(0, std::size_t{2} * line.depth, ' ');
  }
  own_vector<std::size_t> widths(table.headings().size());
  for (auto const& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  own_string text = what.caption.empty() ? "" : shown(what.caption) + "\n\n";
  for (auto const& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) text += (i == 0 ? "" : "  ") + padded(line[i], widths[i], !table.is_left_aligned(i));
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return table.rest().empty() ? text : text + shown(table.rest()) + "\n";
}

inline own_string text_of(section const& what, text_style const& style) {
  auto const shown = [&](std::string_view words) { return without_no_break(printable(words, style)); };
  std::string const title = shown(what.title);
  own_string text = "\n" + title + "\n" + std::string(width_of(title), '=') + "\n\n";
  if (!what.answer.empty()) text += shown(what.answer) + "\n\n";
  bool is_list = false;
  for (block const* const each : blocks_of(what, block_use::pages)) {
    if (auto const* const words = std::get_if<note>(each)) {
      text += shown(words->text) + "\n";
      is_list = true;
    } else if (auto const* const table = std::get_if<data_table>(each)) {
      text += (is_list ? "\n" : "") + text_of(*table, style) + "\n";
      is_list = false;
    }
  }
  return text;
}

/// A whole document without figures and their explanations. Lines have no length limit.
inline own_string text_of(document const& what, text_style style) {
  style.width = std::numeric_limits<std::size_t>::max() / 2;
  auto const shown = [&](std::string_view words) { return without_no_break(printable(words, style)); };
  own_string text;
  for (std::string const& line : head_lines(what, style, 1)) text += line + "\n";
  text += "\n";
  for (key_figure const& each : what.key_figures) {
    text += shown(each.name) + ": " + (each.value.empty() ? std::string{not_measured} : shown(each.value)) +
            (each.note.empty() ? "" : " (" + shown(each.note) + ")") + "\n";
  }
  for (section const& each : what.sections) text += text_of(each, style);
  return text;
}

}  // namespace PROFKIT_NAMESPACE::detail
