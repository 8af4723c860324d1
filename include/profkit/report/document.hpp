// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "data_table.hpp"

// A report as a value: what every printer (text, Markdown, HTML, CSV) prints. A document is made once from a summary, and has no markup.

namespace profkit::detail {

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
  /// What the axes of several figures have in common. Such figures stand side by side and have no histogram.
  struct scale {
    double low = 0.0;  ///< of the usual steps, ms
    double high = 0.0;
    double largest = 0.0;  ///< of all steps, ms
  };
  std::optional<scale> common_scale{};  ///< n/a: the axes fit the steps of this figure
  std::string title{};                  ///< "Before, mean 46.32 ms"; empty: the section tells it
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
  enum class box_kind : std::uint8_t { scope, function, waiting };
  struct box {
    std::string name;
    std::uint32_t depth = 0;
    double begin = 0.0;  ///< ms from the left
    double time = 0.0;   ///< ms
    double idle = 0.0;   ///< ms of it, hatched at the right; 0 for host time
    box_kind kind = box_kind::scope;
    std::string more{};  ///< further words for the tooltip
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
  /// What the memory moved in the whole run, in bytes per second: smallest, mean and largest window.
  struct band {
    double low = 0.0;
    double mean = 0.0;
    double high = 0.0;
  };
  std::vector<roof> roofs;
  std::vector<point> points;
  std::optional<band> memory{};  ///< n/a: not measured
};

/// A value for each row and column, such as each rank in each step, as a colour.
struct heat_figure {
  static constexpr std::size_t max_columns_with_numbers = 30;  ///< beyond them, cells have no room for numbers

  std::string title;
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> values;  ///< by row and column, in ms
  std::vector<bool> is_dashed;                             ///< by column: warm-up
  double high = 0.0;                                       ///< the value with the darkest colour
  colour meaning = colour::busy;
};

/// What several ranks did at the same time. Each has two lanes, because what lies in them may overlap.
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
    std::vector<stretch> upper;  ///< in order, without overlaps
    std::vector<stretch> lower;
  };
  std::vector<row> rows;
  std::vector<std::pair<bar_part, std::string>> legend;
  bool has_thin_lower = false;  ///< the lower stretches are lines
};

/// A picture. `finding` is what a reader sees in it; it is read out by screen readers. Its numbers stand in a table of the same section.
struct figure {
  std::string finding;
  std::variant<steps_figure, bars_figure, icicle_figure, lines_figure, roofline_figure, waterfall_figure, pairs_figure, heat_figure,
               lanes_figure>
      content;
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
