// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief A report as a value without markup, created once from a summary. Every printer (text, Markdown, HTML, CSV) prints it.
/// Names in `profkit::detail` may change.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "impl/profile/own_memory.hpp"
#include "impl/report/data_table.hpp"

namespace profkit::detail {

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
  own_vector<stacked_bar> bars;
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
  own_vector<box> boxes;  ///< depth first
  bool is_host = false;   ///< host time, not scope time
};

/// Lines over steps or time, such as memory and trends.
struct lines_figure {
  std::string x_title;
  std::string y_title;
  bool begins_at_zero = true;
  struct line {
    std::string name;
    own_vector<double> x;
    own_vector<double> y;
    own_vector<double> low{};  ///< lower edge of a band around the line; empty: none
    own_vector<double> high{};
  };
  own_vector<line> lines;
  column_kind y_kind = column_kind::milliseconds;
};

/// A difference, shown as the sum of its parts.
struct waterfall_figure {
  double before = 0.0;  ///< ms
  double after = 0.0;   ///< ms
  struct part {
    std::string name;
    double difference = 0.0;  ///< ms
    bool is_certain = false;  ///< certainly faster or slower; false: possibly noise
    std::string label{};      ///< "-9.40 ms, faster"
  };
  own_vector<part> parts;
};

/// A value for each run of two variants, in order of time.
struct pairs_figure {
  std::string title;  ///< meaning of the values: "mean step in ms"
  own_vector<double> before;
  own_vector<double> after;
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

/// A value for each row and column, such as each rank in each step, shown as a colour.
struct heat_figure {
  static constexpr std::size_t max_columns_with_numbers = 30;  ///< with more columns, cells are too narrow for numbers

  std::string title;
  own_vector<std::string> rows;
  own_vector<std::string> columns;
  own_vector<own_vector<std::optional<double>>> values;  ///< by row and column, in ms
  own_vector<bool> is_dashed;                            ///< by column: it is a warm-up step
  double high = 0.0;                                     ///< the value with the darkest colour
  colour meaning = colour::busy;
};

/// The activity of several ranks at the same time. Each rank has two lanes, because its stretches may overlap.
struct lanes_figure {
  double total = 0.0;  ///< ms; the width of the figure
  struct stretch {
    double begin = 0.0;  ///< ms from the left
    double end = 0.0;
    colour meaning = colour::busy;
    std::string name;
  };
  struct row {
    std::string name;
    own_vector<stretch> upper;  ///< in order, without overlaps
    own_vector<stretch> lower;
  };
  own_vector<row> rows;
  own_vector<std::pair<bar_part, std::string>> legend;
  bool has_thin_lower = false;  ///< the lower stretches are lines
};

/// A picture. `finding` states what it shows; screen readers read it out. The same section has a table with the numbers of the picture.
struct figure {
  std::string finding;
  std::variant<steps_figure, bars_figure, icicle_figure, lines_figure, roofline_figure, waterfall_figure, pairs_figure, heat_figure,
               lanes_figure>
      content;
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
  std::string id;      ///< "steps"; the anchor in HTML
  std::string title;   ///< "Steps"
  std::string answer;  ///< one sentence with numbers
  own_vector<block> blocks;
  std::string how_to_read{};
};

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

}  // namespace profkit::detail
