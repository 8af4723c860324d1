// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// A report as a value: what every printer (text, Markdown, HTML, CSV) prints. A document is made once from a summary, and has no markup.

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

/// A step in the figure of steps.
struct plotted_step {
  std::uint64_t index = 0;
  double ms = 0.0;
  enum class role : std::uint8_t { warmup, usual, outlier, other_kind, excluded } is = role::usual;
  std::string label{};  ///< "step 40: 151.0 ms, validation and generation"; most have none
};

/// Times of steps: all from 0, and the usual ones enlarged, with their histogram.
struct steps_figure {
  std::vector<plotted_step> steps;
  double mean = 0.0;           ///< of the usual steps, ms
  double half_interval = 0.0;  ///< of 95 %, ms; 0: n/a
  std::string quantity;        ///< "ms of host time"
  struct level {
    std::uint64_t from = 0, to = 0;
    double ms = 0.0;
  };
  std::vector<level> levels{};  ///< where the level changed
};

/// A bar of 100 %, with parts that have parts.
struct stacked_bar {
  std::string title;  ///< "Usual step, 46.32 ms, mean of 35"
  struct part {
    std::string name;
    std::vector<bar_part> inside;  ///< values in `unit`
  };
  std::vector<part> parts;  ///< in the order in which they run
  std::string unit = "ms";
};
struct bars_figure {
  std::vector<stacked_bar> bars;
  std::vector<std::pair<bar_part, std::string>> legend;  ///< colours and their names
};

/// A tree of boxes: the width of a box is its time.
struct icicle_figure {
  std::string title;
  double total = 0.0;  ///< ms; the width of the figure
  struct box {
    std::string name;
    std::uint32_t depth = 0;
    double begin = 0.0;  ///< ms from the left
    double time = 0.0;   ///< ms
    double idle = 0.0;   ///< ms of it, hatched at the right; 0 for host time
  };
  std::vector<box> boxes;  ///< depth first
  bool is_host = false;    ///< host time, not scope time
};

/// Lines over steps or over time, such as memory and trends.
struct lines_figure {
  std::string x_title;
  std::string y_title;
  bool begins_at_zero = true;
  struct line {
    std::string name;
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> low{};  ///< a band below and above the line; empty: none
    std::vector<double> high{};
  };
  std::vector<line> lines;
  column_kind y_kind = column_kind::milliseconds;
};

/// A difference as the sum of its parts.
struct waterfall_figure {
  double before = 0.0;  ///< ms
  double after = 0.0;   ///< ms
  struct part {
    std::string name;
    double difference = 0.0;  ///< ms
    bool is_certain = false;  ///< faster or slower; false: it may be noise
    std::string label{};      ///< "-9.40 ms, faster"
  };
  std::vector<part> parts;
};

/// A value for each run of two sides, in the order of time.
struct pairs_figure {
  std::string title;  ///< what the values are: "mean step in ms"
  std::vector<double> before;
  std::vector<double> after;
};

/// A roofline with measured points; both axes are logarithmic.
struct roofline_figure {
  struct roof {
    std::string name;
    double flops_per_second = 0.0;  ///< 0: none
    double bytes_per_second = 0.0;
  };
  struct point {
    std::string name;
    double flops_per_byte = 0.0;
    double flops_per_second = 0.0;
    double share_of_step = 0.0;  ///< the area of the mark
  };
  std::vector<roof> roofs;
  std::vector<point> points;
};

/// A value for each row and column, such as each rank in each step, as a colour.
struct heat_figure {
  std::string title;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> values;  ///< by row and column, in ms
  std::vector<bool> is_dashed;                             ///< by column: warm-up
  double high = 0.0;                                       ///< the value with the darkest colour
  colour meaning = colour::busy;
};

/// A picture. `finding` is what a reader sees in it; it is read out by screen readers. Its numbers stand in a table of the same section.
struct figure {
  std::string finding;
  std::variant<steps_figure, bars_figure, icicle_figure, lines_figure, roofline_figure, waterfall_figure, pairs_figure, heat_figure> content;
};

/// A sentence in a section: an explanation, or why something is n/a.
struct note {
  std::string text;
  bool is_essential = false;  ///< also on the first screen of text
  block_use use = block_use::everywhere;
};

using block = std::variant<figure, data_table, note>;

/// A section: a noun as title, one sentence with the finding, and what supports it.
struct section {
  std::string id;      ///< "steps"; the anchor in HTML
  std::string title;   ///< "Steps"
  std::string answer;  ///< one sentence with numbers
  std::vector<block> blocks;
  std::string how_to_read{};
};

/// What to do, and what it can save at most.
struct finding {
  std::string headline;  ///< "The GPU sets the pace."
  std::string text;
  std::string action;
  std::string scope{};  ///< path of the scope that it is about; empty: none
};

/// A figure of the head, with its uncertainty, or the reason why it is n/a.
struct key_figure {
  std::string name;   ///< "usual step"
  std::string value;  ///< "46.32 ms"; empty: n/a
  std::string note;   ///< "+-0.04 ms (95 %), 35 of 36 steps"
};

/// A report.
struct document {
  std::string title;     ///< name of the program
  std::string subtitle;  ///< device, host, number of steps
  std::string headline;  ///< one sentence: what to do first
  std::vector<finding> findings;
  std::vector<key_figure> key_figures;
  std::vector<section> sections;
  std::string version;  ///< "profkit 0.1.0"
};

}  // namespace profkit::detail
