// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_cells.hpp"
#include "html_lines.hpp"
#include "html_page.hpp"
#include "numbers.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// Prints a tree of boxes whose width is their time, with idle time hatched at the right. A click on a box enlarges it (by the script of
/// the page). Positions are percentages of the width of the page.
class html_icicle {
 public:
  html_icicle(icicle_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    if (!(amount_or_zero(figure_.total) > 0.0)) return {};
    own_string boxes;
    std::uint32_t deepest = 0;
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (icicle_figure::box const& each : figure_.boxes) {
      double const share = amount_or_zero(each.time) / figure_.total;
      if (share < min_shown || each.depth >= max_depth) continue;
      if (shown == limits_.boxes) {
        ++left_out;
        continue;
      }
      ++shown;
      deepest = std::max(deepest, each.depth);
      boxes += box(each, share);
    }
    own_string page;
    if (!figure_.title.empty()) page += "<h3>" + html_text(figure_.title) + "</h3>\n";
    page += own_format("<div class=\"icicle{}\" role=\"img\" aria-label=\"{}\" style=\"height:{}px\">\n{}</div>\n",
                       figure_.is_host ? " hosts" : "", html_text(figure_.title.empty() ? finding : figure_.title + ": " + finding),
                       (deepest + 1) * row_height, boxes);
    if (left_out > 0) page += own_format("<p class=\"note\">{} more boxes are not drawn.</p>\n", left_out);
    return page;
  }

 private:
  [[nodiscard]] static char const* class_of(icicle_figure::box_kind kind) {
    switch (kind) {
      case icicle_figure::box_kind::scope:
        return "";
      case icicle_figure::box_kind::function:
        return " class=\"f\"";
      case icicle_figure::box_kind::waiting:
        return " class=\"w\"";
    }
    return "";
  }

  static constexpr double min_shown = 0.0025;
  static constexpr double min_named = 0.032;
  static constexpr double min_timed = 0.09;
  static constexpr std::uint32_t max_depth = 32;
  static constexpr std::uint32_t row_height = 22;

  [[nodiscard]] own_string box(icicle_figure::box const& what, double share) const {
    double const idle = std::min(amount_or_zero(what.idle) / what.time, 1.0);
    std::string const name = html_text(what.name, 80);
    own_string page = own_format("<div{} style=\"left:{};width:{};top:{}px\" title=\"{}: {} ms, {:.1f}&nbsp;%", class_of(what.kind),
                                 html_percent(what.begin / figure_.total), html_percent(share), what.depth * row_height, name,
                                 html_amount(what.time), 100.0 * share);
    if (idle > 0.0) page += own_format(", idle {} ms", html_amount(what.idle));
    if (!what.more.empty()) page += ", " + html_text(what.more, 160);
    page += "\">";
    if (idle >= 0.005) page += own_format("<i style=\"width:{}\"></i>", html_percent(idle));
    constexpr double letters = 150.0;  // number of characters that fit the width of the page
    bool const fits = static_cast<double>(what.name.size()) <= share * letters;
    if (share >= min_named)
      page += "<span>" + (fits ? name : html_text(last_component(what.name), 80)) +
              (share >= min_timed ? " <s>" + html_amount(what.time) + "</s>" : "") + "</span>";
    return page + "</div>\n";
  }

  icicle_figure const& figure_;
  html_limits limits_;
};

}  // namespace profkit::detail
