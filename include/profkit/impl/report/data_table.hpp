// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "../profile/own_memory.hpp"

// Tables of a document as plain values, without markup.

namespace profkit::detail {

/// The meaning of a colour. It is the same on all pages.
enum class colour : std::uint8_t {
  busy,
  launch_bound,
  host_bound,
  synchronisation,
  copies,
  queued,
  host,
  transfer,
  neutral,
  kernel_class,  ///< the first of 12 colours of kernel classes: `kernel_class` + position of the class
};

/// A part of a bar.
struct bar_part {
  colour meaning = colour::neutral;
  std::uint8_t shade = 0;  ///< position of a kernel class
  double value = 0.0;
};

/// A bar in a cell. All bars of a column share a scale that begins at 0.
struct bar_cell {
  own_vector<bar_part> parts;
};

/// Smallest, mean and largest value. All ranges of a column share a scale.
struct range_cell {
  double low = 0.0;
  double mean = 0.0;
  double high = 0.0;
  own_vector<double> values{};  ///< values of the siblings, in order; may be empty
  std::string remark{};         ///< such as "_1: 18.58" for a sibling that is far from the others
};

/// A change with its confidence range, as shares of the value before (0.25: 25 % more).
struct change_cell {
  double low = 0.0;
  double change = 0.0;
  double high = 0.0;
  bool is_certain = false;  ///< the range excludes 0
};

/// The value of a cell; `std::monostate` is n/a.
using cell_value = std::variant<std::monostate, std::string, double, bar_cell, range_cell, change_cell>;

/// A cell of a table.
struct cell {
  cell_value value;
  std::string detail{};  ///< the complete text where `value` is shortened, or why it is n/a; a tooltip in HTML
};

/// How a column prints its cells. The numbers of a column share a unit and a number of decimals, chosen by the largest value. Columns of
/// `milliseconds` in a table share them too, and so do columns of `bytes`.
enum class column_kind : std::uint8_t {
  text,
  code,          ///< names of kernels, commands; monospaced, shortened in the middle
  count,         ///< 20,781
  milliseconds,  ///< `double` in ms; printed in us, ms or s
  duration,      ///< `double` in ms, for single executions, in a unit that other columns need not share
  share,         ///< 0.25 prints as 25.0; the heading contains %
  bytes,         ///< printed in KiB, MiB or GiB
  real,          ///< number without a unit, printed unchanged
  bar,
  range,              ///< linear scale
  logarithmic_range,  ///< for values that differ by factors
  change              ///< changes with their ranges around 0
};

/// The printers that print a table or a note.
enum class block_use : std::uint8_t {
  everywhere,  ///< all printers; the first screen chooses its tables by name
  pages,       ///< HTML only, such as the numbers of a figure
  text         ///< full text and Markdown only, such as a row for each path. Pages have a shorter form of it.
};

/// Where a column is printed.
enum class column_use : std::uint8_t {
  always,
  wide,  ///< not on narrow pages and not on the first screen of text
  page,  ///< HTML only
  file   ///< CSV only
};

struct column {
  std::string heading;  ///< the printer adds the unit
  column_kind kind = column_kind::text;
  column_use use = column_use::always;
  std::string explanation{};       ///< one sentence; a tooltip in HTML
  std::optional<colour> legend{};  ///< colour of this quantity in the bars of the document; n/a: none
  bool is_difference = false;      ///< positive numbers have a plus sign
  double margin = 0.0;             ///< in a column of changes: smaller changes are not relevant
  std::string short_heading{};     ///< in text, "{}" stands for the unit; empty: `heading` and the unit
};

/// A row. Rows with a depth form a tree: the parent of a row is the last row before it with a smaller depth.
struct row {
  own_vector<cell> cells;  ///< one per column
  std::uint32_t depth = 0;
  bool is_open = true;         ///< its children are visible initially
  bool is_total = false;       ///< sum of the other rows
  bool is_heading = false;     ///< begins a group, such as a kind of step
  bool is_quiet = false;       ///< a summary of rows that are not shown ("3 smaller: a, b, c")
  std::size_t stands_for = 1;  ///< number of rows that a quiet row summarizes
};

/// A table with typed columns.
struct data_table {
  std::string name;  ///< unique in the document; the name of its CSV file
  std::string caption{};
  own_vector<column> columns;
  own_vector<row> rows;
  std::size_t shown_rows = SIZE_MAX;  ///< further rows are folded in HTML and left out on the first screen
  std::string folded_label{};         ///< such as "17 more kernels: 8.21 ms, 18.5 % of kernel time"
  std::optional<std::size_t> sorted_by{};
  block_use use = block_use::everywhere;
  bool has_fixed_units = false;  ///< units and decimals do not depend on the values, so that reports of two runs can be compared by line
  std::size_t listed_rows = SIZE_MAX;  ///< number of rows in full text and Markdown; `folded_label` replaces the others
};

}  // namespace profkit::detail
