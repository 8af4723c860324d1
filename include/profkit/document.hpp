// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief A report as a value without markup, created once from a summary. Every printer (text, Markdown, HTML, CSV) prints it.
/// Names in `profkit::detail` may change.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "impl/profile/own_memory.hpp"
#include "time.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  text,        ///< full text and Markdown only, such as a row for each path. Pages have a shorter form of it.
  file         ///< CSV only
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
  std::string_view explanation{};    ///< a constant; one sentence; a tooltip in HTML
  std::string_view short_heading{};  ///< a constant; in text, "{}" stands for the unit; empty: `heading` and the unit
  std::optional<colour> legend{};    ///< colour of this quantity in the bars of the document; n/a: none
  bool is_difference = false;        ///< positive numbers have a plus sign
  double margin = 0.0;               ///< in a column of changes: smaller changes are not relevant
};

/// A column whose heading is a constant: see `column`.
struct fixed_column {
  char const* heading;
  column_kind kind = column_kind::text;
  column_use use = column_use::always;
  std::string_view explanation{};
  std::string_view short_heading{};
  std::optional<colour> legend{};
};

/// A row. Rows with a depth form a tree: the parent of a row is the last row before it with a smaller depth.
struct row {
  own_vector<cell> cells{};  ///< one per column
  std::uint32_t depth = 0;
  bool is_open = true;         ///< its children are visible initially
  bool is_total = false;       ///< sum of the other rows
  bool is_heading = false;     ///< begins a group, such as a kind of step
  bool is_quiet = false;       ///< a summary of rows that are not shown ("3 smaller: a, b, c")
  std::size_t stands_for = 1;  ///< number of rows that a quiet row summarizes

  // Each adds a cell after the others.

  /// @param complete the complete text, if `words` is a short form.
  row& text(std::string_view words, std::string_view complete = {});
  /// @param why the reason if the text is unknown.
  row& text_if(bool is_known, std::string_view words, std::string_view why = {}) { return is_known ? text(words) : missing(why); }
  /// A number in the unit of its column: ms, bytes, a share of 1, or none.
  row& number(double value);
  /// @param why the reason if there is no value.
  row& number(std::optional<double> const& value, char const* why = "");
  row& count(std::uint64_t value) { return number(static_cast<double>(value)); }
  row& count(std::optional<std::uint64_t> const& value, char const* why);
  /// A difference of sizes.
  row& bytes(std::int64_t value) { return number(static_cast<double>(value)); }
  row& ms(std::optional<milliseconds> const& value, char const* why = "");
  /// Parts from left to right.
  row& bar(own_vector<bar_part> parts);
  row& bar(std::initializer_list<bar_part> parts) { return bar(own_vector<bar_part>(parts)); }
  row& range(range_cell value);
  /// n/a.
  row& missing(std::string_view why = {});
  /// Prints nothing: the column does not apply to the row.
  row& blank() { return text({}); }
};

/// A table with typed columns.
struct data_table {
  std::string name;  ///< unique in the document; the name of its CSV file
  std::string caption{};
  own_vector<column> columns{};
  own_vector<row> rows{};
  std::size_t shown_rows = SIZE_MAX;  ///< further rows are folded in HTML and left out on the first screen
  std::string folded_label{};         ///< such as "17 more kernels: 8.21 ms, 18.5 % of kernel time"
  std::optional<std::size_t> sorted_by{};
  block_use use = block_use::everywhere;
  bool has_fixed_units = false;  ///< units and decimals do not depend on the values, so that reports of two runs can be compared by line
  std::size_t listed_rows = SIZE_MAX;  ///< number of rows in full text and Markdown; `folded_label` replaces the others

  void add_columns(std::initializer_list<fixed_column> list);
  /// Adds a row without cells, at a depth of the tree. The reference is valid until the next row.
  row& add_row(std::uint32_t depth_in_tree = 0) {
    rows.emplace_back().depth = depth_in_tree;
    return rows.back();
  }
  /// Adds a row that begins a group.
  row& add_heading(std::string_view words);
  /// Removes columns that are n/a in all rows. To be called after the last row.
  void drop_unknown_columns();
};

inline row& row::text(std::string_view words, std::string_view complete) {
  cell& next = cells.emplace_back();
  next.value.emplace<std::string>(words);
  next.detail = complete;
  return *this;
}
inline row& row::number(double value) {
  cells.emplace_back().value = value;
  return *this;
}
inline row& row::missing(std::string_view why) {
  cells.emplace_back().detail = why;
  return *this;
}
inline row& row::number(std::optional<double> const& value, char const* why) { return value ? number(*value) : missing(why); }
inline row& row::count(std::optional<std::uint64_t> const& value, char const* why) { return value ? count(*value) : missing(why); }
inline row& row::ms(std::optional<milliseconds> const& value, char const* why) { return value ? number(value->count()) : missing(why); }
inline row& row::bar(own_vector<bar_part> parts) {
  cells.emplace_back().value.emplace<bar_cell>().parts = std::move(parts);
  return *this;
}
inline row& row::range(range_cell value) {
  cells.emplace_back().value = std::move(value);
  return *this;
}

inline void data_table::add_columns(std::initializer_list<fixed_column> list) {
  for (fixed_column const& each : list)
    columns.push_back({each.heading, each.kind, each.use, each.explanation, each.short_heading, each.legend});
}
inline row& data_table::add_heading(std::string_view words) {
  row& result = add_row().text(words);
  result.cells.resize(columns.size());
  result.is_heading = true;
  return result;
}

inline void data_table::drop_unknown_columns() {
  for (std::size_t i = columns.size(); i-- > 0;) {
    bool is_known = rows.empty();
    for (row const& each : rows) is_known = is_known || !std::holds_alternative<std::monostate>(each.cells[i].value);
    if (is_known) continue;
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (row& each : rows) each.cells.erase(each.cells.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// A step in the figure of steps.
struct plotted_step {
  std::uint64_t index = 0;
  double ms = 0.0;
  enum class role : std::uint8_t { warmup, usual, outlier, other_kind, excluded } is = role::usual;
  std::string label{};  ///< "step 40: 151.0 ms, validation and generation"; empty for most steps
};

/// Step times: all steps on an axis from 0, and the usual steps enlarged, with their histogram.
struct steps_figure {
  own_vector<plotted_step> steps;
  double mean = 0.0;           ///< mean of the usual steps, ms
  double half_interval = 0.0;  ///< half-width of the 95 % interval of the mean, ms; 0: n/a
  std::string quantity;        ///< "ms of host time"
  struct level {
    std::uint64_t from = 0, to = 0;
    double ms = 0.0;
  };
  own_vector<level> levels{};  ///< the mean levels before and after a level change
  /// The common axes of several figures. Such figures are printed side by side and have no histogram.
  struct scale {
    double low = 0.0;  ///< minimum of the usual steps, ms
    double high = 0.0;
    double largest = 0.0;  ///< maximum of all steps, ms
  };
  std::optional<scale> common_scale{};  ///< n/a: the axes fit the steps of this figure
  std::string title{};                  ///< "Before, mean 46.32 ms"; empty if the section names the figure
};

/// A bar of 100 % with parts, each divided into smaller parts.
struct stacked_bar {
  std::string title;  ///< "Usual step, 46.32 ms, mean of 35"
  struct part {
    std::string name;
    own_vector<bar_part> inside;  ///< values in `unit`
  };
  own_vector<part> parts;  ///< in order of execution
  std::string unit = "ms";
};
struct bars_figure {
  own_vector<stacked_bar> bars{};
  own_vector<std::pair<bar_part, std::string>> legend;  ///< colours and their names
};

/// A tree of boxes. The width of a box is its time.
struct icicle_figure {
  std::string title;
  double total = 0.0;  ///< ms; the width of the figure
  enum class box_kind : std::uint8_t { scope, function, waiting };
  struct box {
    std::string name;
    std::uint32_t depth = 0;
    double begin = 0.0;  ///< ms from the left
    double time = 0.0;   ///< ms
    double idle = 0.0;   ///< part of `time` in ms, hatched at the right; 0 for host time
    box_kind kind = box_kind::scope;
    std::string more{};  ///< additional text of the tooltip
  };
  own_vector<box> boxes{};  ///< depth first
  bool is_host = false;     ///< host time, not scope time
};

/// Lines over steps or time, such as memory and trends.
struct lines_figure {
  std::string x_title;
  std::string y_title;
  bool begins_at_zero = true;
  struct line {
    std::string name;
    own_vector<double> x;
    own_vector<double> y{};
    own_vector<double> low{};  ///< lower edge of a band around the line; empty: none
    own_vector<double> high{};
  };
  own_vector<line> lines{};
  column_kind y_kind = column_kind::milliseconds;
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
  /// Memory traffic of the whole run, in bytes per second: smallest, mean and largest window.
  struct band {
    double low = 0.0;
    double mean = 0.0;
    double high = 0.0;
  };
  own_vector<roof> roofs;
  own_vector<point> points;
  std::optional<band> memory{};  ///< n/a: not measured
};

struct html_limits;

/// A figure that only the program `profkit` makes. It converts from any type with a function `html_of(figure, finding, limits)`.
/// Copies share the figure.
class other_figure {
 public:
  template <class Figure, class = decltype(html_of(std::declval<Figure const&>(), std::string{}, std::declval<html_limits const&>()))>
  other_figure(Figure content) : content_{std::make_shared<Figure>(std::move(content))}, print_{&print<Figure>} {}

  /// @param finding what the figure shows.
  [[nodiscard]] own_string html(std::string const& finding, html_limits const& limits) const {
    return print_(content_.get(), finding, limits);
  }

  /// The figure; null if it has another type.
  template <class Figure>
  [[nodiscard]] Figure* get() const {
    return print_ == &print<Figure> ? static_cast<Figure*>(content_.get()) : nullptr;
  }

 private:
  template <class Figure>
  static own_string print(void const* content, std::string const& finding, html_limits const& limits) {
    return html_of(*static_cast<Figure const*>(content), finding, limits);
  }

  std::shared_ptr<void> content_;
  own_string (*print_)(void const* content, std::string const& finding, html_limits const& limits);
};

/// A picture. `finding` states what it shows; screen readers read it out. The same section has a table with the numbers of the picture.
struct figure {
  std::string finding;
  std::variant<steps_figure, bars_figure, icicle_figure, lines_figure, roofline_figure, other_figure> content;

  /// The figure of the program; null if it has another type.
  template <class Figure>
  [[nodiscard]] Figure* other() const {
    auto const* const any = std::get_if<other_figure>(&content);
    return any == nullptr ? nullptr : any->get<Figure>();
  }
};

/// A sentence in a section: an explanation, or why something is n/a.
struct note {
  std::string text;
  bool is_essential = false;  ///< printed on the first screen of text too
  block_use use = block_use::everywhere;
};

using block = std::variant<figure, data_table, note>;

/// A section: a noun as title, one sentence with the finding, and the tables, figures and notes that support it.
struct section {
  std::string id;        ///< "steps"; the anchor in HTML
  std::string title;     ///< "Steps"
  std::string answer{};  ///< one sentence with numbers
  own_vector<block> blocks{};
  std::string how_to_read{};

  void add(data_table table) { blocks.emplace_back(std::move(table)); }
  /// Adds a table unless it has no rows.
  void add_unless_empty(data_table table) {
    if (!table.rows.empty()) add(std::move(table));
  }
  void add(figure picture) { blocks.emplace_back(std::move(picture)); }
  void add_note(std::string text, bool is_essential = false, block_use use = block_use::everywhere) {
    blocks.emplace_back(note{std::move(text), is_essential, use});
  }
  /// Adds a note for each line.
  void add_notes(std::string_view lines, block_use use = block_use::everywhere);
};

inline void section::add_notes(std::string_view lines, block_use use) {
  while (!lines.empty()) {
    std::size_t const end = lines.find('\n');
    if (end > 0) add_note(std::string{lines.substr(0, end)}, false, use);
    lines.remove_prefix(end < lines.size() ? end + 1 : lines.size());
  }
}

/// The blocks of a section that a printer shows. @param left_out the use of blocks that it does not show.
inline own_vector<block const*> blocks_of(section const& what, block_use left_out) {
  own_vector<block const*> result;
  for (block const& each : what.blocks) {
    auto const* const table = std::get_if<data_table>(&each);
    auto const* const text = std::get_if<note>(&each);
    block_use const use = table != nullptr ? table->use : text != nullptr ? text->use : block_use::pages;
    if (use != left_out && use != block_use::file) result.push_back(&each);
  }
  return result;
}

/// A recommended action, and the most that it can save.
struct finding {
  std::string headline;  ///< "The GPU sets the pace."
  std::string text;
  std::string action;
  std::string scope{};  ///< path of the scope that it refers to; empty: none
};

/// A figure at the top of the report, with its uncertainty, or the reason why it is n/a.
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
  own_vector<finding> findings;
  own_vector<key_figure> key_figures;
  own_vector<section> sections;
  std::string version;  ///< "profkit 0.1.0"
};

}  // namespace PROFKIT_NAMESPACE::detail
