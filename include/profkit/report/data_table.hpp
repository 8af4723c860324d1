// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Tables of a document as values, without markup.

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

/// A bar in a cell. Bars of a column have one scale and begin at 0.
struct bar_cell {
  std::vector<bar_part> parts;
};

/// Smallest, mean and largest value. Ranges of a column have one scale.
struct range_cell {
  double low = 0.0;
  double mean = 0.0;
  double high = 0.0;
  std::vector<double> values{};  ///< of siblings, in order; may be empty
  std::string remark{};          ///< such as "_1: 18.58" for a sibling that is far from the others
};

/// A change with the range in which it lies, as shares of what was before (0.25: 25 % more).
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

/// How a column prints its cells. Numbers of a column have one unit and one number of decimals, chosen by the largest value; columns of
/// `milliseconds` have them in common, and so have columns of `bytes`.
enum class column_kind : std::uint8_t {
  text,
  code,          ///< names of kernels, commands; monospaced, shortened in the middle
  count,         ///< 20,781
  milliseconds,  ///< `double` in ms; printed in us, ms or s
  duration,      ///< `double` in ms; of one execution, in a unit that other columns do not have to share
  share,         ///< 0.25 prints as 25.0, with % in the heading
  bytes,         ///< printed in KiB, MiB or GiB
  real,          ///< as it is
  bar,
  range,              ///< linear scale
  logarithmic_range,  ///< for values that differ by factors
  change              ///< changes with their ranges around 0
};

/// Which printers have a table or a note.
enum class block_use : std::uint8_t {
  everywhere,  ///< except the first screen, which chooses its tables by name
  pages,       ///< in HTML only, such as the numbers of a figure
  text         ///< in full text and Markdown, such as a row for each path. Pages have a shorter form of it.
};

/// Where a column is shown.
enum class column_use : std::uint8_t {
  always,
  wide,  ///< on wide pages only, not on the first screen of text
  page,  ///< in HTML only
  file   ///< in CSV only
};

struct column {
  std::string heading;  ///< the printer adds the unit
  column_kind kind = column_kind::text;
  column_use use = column_use::always;
  std::string explanation{};       ///< one sentence; a tooltip in HTML
  std::optional<colour> legend{};  ///< what the column counts has this colour in bars of the document; n/a: none
  bool is_difference = false;      ///< positive numbers have a sign, too
  double margin = 0.0;             ///< of a column of changes: a smaller change does not matter
  std::string short_heading{};     ///< in text, "{}" stands for the unit; empty: `heading` and the unit
};

/// A row. Rows with a depth make a tree: a row is inside the last row before it with a smaller depth.
struct row {
  std::vector<cell> cells;  ///< one per column
  std::uint32_t depth = 0;
  bool is_open = true;         ///< its children are shown at first
  bool is_total = false;       ///< the sum of the others
  bool is_heading = false;     ///< begins a group, such as a kind of step
  bool is_quiet = false;       ///< a summary of rows that are not shown ("3 smaller: a, b, c")
  std::size_t stands_for = 1;  ///< number of rows that a quiet row sums up
};

/// A table with typed columns.
struct data_table {
  std::string name;  ///< unique in the document; the name of its CSV file
  std::string caption{};
  std::vector<column> columns;
  std::vector<row> rows;
  std::size_t shown_rows = SIZE_MAX;  ///< those after it are folded in HTML, and left out on the first screen
  std::string folded_label{};         ///< such as "17 more kernels: 8.21 ms, 18.5 % of kernel time"
  std::optional<std::size_t> sorted_by{};
  block_use use = block_use::everywhere;
  bool has_fixed_units = false;        ///< units and decimals do not depend on the values: reports of two runs can be compared by line
  std::size_t listed_rows = SIZE_MAX;  ///< full text and Markdown have these, and `folded_label` for the others
};

}  // namespace profkit::detail
