// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "column_numbers.hpp"
#include "html_bars.hpp"
#include "html_limits.hpp"
#include "html_lines.hpp"
#include "html_text.hpp"
#include "own_format.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
