// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_bars.hpp"
#include "html_limits.hpp"
#include "html_text.hpp"
#include "own_format.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
