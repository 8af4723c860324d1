// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/html_boxes.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/html_plots.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <utility>

namespace PROFKIT_NAMESPACE::detail {

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

/// Prints a heat map as a table, so that its numbers can be read and copied.
class html_heat {
 public:
  html_heat(heat_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    std::size_t const columns = std::min(figure_.columns.size(), limits_.boxes);
    std::size_t const rows = std::min(figure_.rows.size(), limits_.boxes);
    constexpr std::size_t max_named = heat_figure::max_columns_with_numbers;
    bool const has_numbers = columns <= max_named;
    own_string page =
        own_format("<h3>{}</h3>\n<div class=\"scroll\"><table class=\"heat\" aria-label=\"{}\"{}>\n<tr><th></th>", html_text(figure_.title),
                   html_text(finding), has_numbers ? own_format(" style=\"min-width:{}px\"", 116 + 33 * columns) : own_string{});
    std::size_t const stride = columns / max_named + 1;
    for (std::size_t i = 0; i < columns; ++i)
      page += "<th scope=\"col\">" + (i % stride == 0 ? html_text(figure_.columns[i], 20) : std::string{}) + "</th>";
    page += "</tr>\n";
    for (std::size_t row = 0; row < rows; ++row) {
      page += "<tr><th scope=\"row\">" + html_text(figure_.rows[row], 48) + "</th>";
      for (std::size_t i = 0; i < columns; ++i) page += cell(row, i, has_numbers);
      page += "</tr>\n";
    }
    return page + "</table></div>\n";
  }

 private:
  static constexpr double least = 0.1;  ///< minimum share of the scale for a coloured cell

  [[nodiscard]] own_string cell(std::size_t row, std::size_t column, bool has_number) const {
    auto const& values = figure_.values[row];
    std::string const dashed = column < figure_.is_dashed.size() && figure_.is_dashed[column] ? " class=\"dashed\"" : "";
    if (column >= values.size() || !values[column]) return "<td" + dashed + " title=\"n/a\"></td>";
    double const value = amount_or_zero(*values[column]);
    double const share = figure_.high > 0.0 ? std::clamp(value / figure_.high, 0.0, 1.0) : 0.0;
    if (share < least) return "<td" + dashed + "></td>";
    own_string const amount = html_amount(value);
    return own_format("<td{} title=\"{}\" style=\"background:color-mix(in srgb,var(--{}) {:.0f}%,transparent)\">{}</td>", dashed, amount,
                      figure_.meaning == colour::launch_bound ? "launch" : "busy", std::round(15.0 + 70.0 * share),
                      has_number ? amount : "");
  }

  heat_figure const& figure_;
  html_limits const& limits_;
};

inline own_string html_of(heat_figure const& figure, std::string const& finding, html_limits const& limits) {
  return html_heat{figure, limits}.print(finding);
}

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

/// Prints the activity of several ranks at the same time, as boxes with widths in percent.
class html_lanes {
 public:
  html_lanes(lanes_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    double const total = amount_or_zero(figure_.total);
    if (!(total > 0.0)) return {};
    own_string page =
        own_format("<div class=\"lanes{}\" role=\"img\" aria-label=\"{}\">\n", figure_.has_thin_lower ? " thin" : "", html_text(finding));
    std::size_t shown = 0;
    for (lanes_figure::row const& each : figure_.rows) {
      if (shown++ == limits_.boxes) break;
      page += "<span>" + html_text(each.name, 48) + "</span><div>" + boxes(each.upper, "", total) + boxes(each.lower, " low", total) +
              "</div>\n";
    }
    page += "<span></span><div class=\"ticks\">";
    html_axis const axis{0.0, total, 8};
    for (double const tick : axis.ticks()) {
      constexpr double last = 0.97;  // a label further right would extend beyond the page
      if (axis.share(tick) > last) break;
      page += own_format("<small style=\"left:{}\">{}{}</small>", html_percent(axis.share(tick)), axis.label(tick),
                         tick == 0.0 ? "&nbsp;ms" : "");
    }
    return page + "</div>\n</div>\n" + html_legend(figure_.legend, limits_);
  }

 private:
  [[nodiscard]] own_string boxes(own_vector<lanes_figure::stretch> const& list, char const* lane, double total) const {
    own_string page;
    std::size_t shown = 0;
    for (lanes_figure::stretch const& each : list) {
      if (shown++ == limits_.boxes) break;
      double const begin = std::clamp(amount_or_zero(each.begin), 0.0, total);
      double const end = std::clamp(amount_or_zero(each.end), begin, total);
      page += own_format("<i class=\"{}{}\" style=\"left:{};width:{}\" title=\"{}: {} to {}&nbsp;ms\"></i>", html_colour({each.meaning}),
                         lane, html_percent(begin / total), html_percent((end - begin) / total), html_text(each.name, 80),
                         html_amount(begin), html_amount(end));
    }
    return page;
  }

  lanes_figure const& figure_;
  html_limits const& limits_;
};

inline own_string html_of(lanes_figure const& figure, std::string const& finding, html_limits const& limits) {
  return html_lanes{figure, limits}.print(finding);
}

}  // namespace PROFKIT_NAMESPACE::detail
