// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"

// Functions that create cells and rows of a document.

namespace profkit::detail {

/// @param detail the complete text, if `text` is a short form.
inline cell text_cell(std::string text, std::string detail = {}) { return {std::move(text), std::move(detail)}; }
/// A number in the unit of its column: ms, bytes, a share of 1, or none.
inline cell number_cell(double value) { return {value, {}}; }
/// A whole number.
inline cell count_cell(std::uint64_t value) { return number_cell(static_cast<double>(value)); }
/// n/a. @param why the reason; a tooltip in HTML.
inline cell missing_cell(std::string why) { return {std::monostate{}, std::move(why)}; }
/// Prints nothing: the column does not apply to the row.
inline cell empty_cell() { return text_cell({}); }

/// n/a without a value.
inline cell number_cell(std::optional<double> value, char const* why) { return value ? number_cell(*value) : missing_cell(why); }
/// A time; n/a without one.
inline cell ms_cell(std::optional<milliseconds> value, char const* why) { return value ? number_cell(value->count()) : missing_cell(why); }

/// A bar of parts from left to right.
inline cell bar(own_vector<bar_part> parts) { return {bar_cell{std::move(parts)}, {}}; }

/// A column with a shorter heading for text, which contains its unit.
inline column text_headed(column made, char const* short_heading) {
  made.short_heading = short_heading;
  return made;
}

/// A column of times. Its heading explains the colour of a part of the bars.
inline column legend_column(char const* heading, char const* short_heading, colour meaning, char const* explanation) {
  return text_headed({heading, column_kind::milliseconds, column_use::always, explanation, meaning}, short_heading);
}

/// A table with fixed units, folded on pages.
inline data_table folded_list(char const* name, std::string caption) {
  data_table result;
  result.name = name;
  result.folded_label = caption;
  result.caption = std::move(caption);
  result.shown_rows = 0;
  result.has_fixed_units = true;
  return result;
}

/// A table with fixed units for text. Pages have a shorter form of it.
inline data_table text_list(char const* name, std::string caption) {
  data_table result = folded_list(name, std::move(caption));
  result.use = block_use::text;
  return result;
}

/// A row at a depth of a tree.
inline row row_at(std::uint32_t depth, own_vector<cell> cells) {
  row result;
  result.cells = std::move(cells);
  result.depth = depth;
  return result;
}

/// Adds a note for each line.
inline void add_notes(section& to, std::string_view lines, block_use use) {
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find('\n'), lines.size());
    if (end > 0) to.blocks.emplace_back(note{std::string{lines.substr(0, end)}, false, use});
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

/// A row that begins a group.
inline row heading_row(std::string text, std::size_t columns) {
  row result;
  result.cells.push_back(text_cell(std::move(text)));
  result.cells.resize(columns);
  result.is_heading = true;
  return result;
}

}  // namespace profkit::detail
