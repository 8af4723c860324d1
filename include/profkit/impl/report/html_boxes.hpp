// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_page.hpp"
#include "numbers.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Three significant digits, or two for values below 1, for labels in pictures.
inline own_string html_amount(double value) {
  if (!is_finite(value)) return not_measured;
  double const size = std::abs(value);
  return with_thousands(fmt::format("{:.{}f}", value, size >= 100.0 || size == 0.0 ? 0 : size >= 10.0 ? 1 : 2));
}

/// The colours of a picture and their names.
inline own_string html_legend(own_vector<std::pair<bar_part, std::string>> const& values, html_limits const& limits) {
  if (values.empty()) return {};
  own_string page = "<p class=\"legend\">";
  std::size_t shown = 0;
  for (auto const& [part, name] : values) {
    if (shown++ == limits.boxes) break;
    page += own_format("<span><i class=\"sw {}\"></i>{}</span> ", html_colour(part), html_text(name, max_shown_text));
  }
  return page + "</p>\n";
}

/// Prints bars of 100 %. Their parts are in order of execution; each part is divided into busy time and idle time by cause. The boxes have
/// widths in percent, so that labels keep their size at any width.
class html_bars {
 public:
  html_bars(bars_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    own_string page;
    std::size_t shown = 0;
    for (stacked_bar const& each : figure_.bars) {
      if (shown++ == limits_.figures) break;
      page += bar(each, finding);
    }
    return page + html_legend(figure_.legend, limits_);
  }

 private:
  static constexpr double min_named = 0.06;     ///< minimum share of the bar for a name above a part
  static constexpr double min_labelled = 0.09;  ///< minimum share of the bar for a label inside a piece

  static double time_of(stacked_bar::part const& part) {
    double sum = 0.0;
    for (bar_part const& each : part.inside) sum += amount_or_zero(each.value);
    return sum;
  }

  [[nodiscard]] own_string bar(stacked_bar const& what, std::string const& finding) const {
    double total = 0.0;
    for (stacked_bar::part const& each : what.parts) total += time_of(each);
    if (!(total > 0.0)) return {};
    own_string names;
    own_string pieces;
    double before = 0.0;
    std::size_t shown = 0;
    for (stacked_bar::part const& each : what.parts) {
      if (shown++ == limits_.boxes) break;
      double const time = time_of(each);
      double const share = time / total;
      if (share >= min_named) names += name_above(each, before / total, share);
      before += time;
      if (time > 0.0) pieces += part(each, time, total, what.unit, is_named_by_legend(each));
    }
    own_string page;
    if (!what.title.empty()) page += "<h3>" + html_text(what.title) + "</h3>\n";
    page +=
        own_format("<div class=\"stack\" role=\"img\" aria-label=\"{}\">\n<div class=\"names\">{}</div>\n<div class=\"parts\">{}</div>\n",
                   html_text(what.title.empty() ? finding : what.title + ": " + finding), names, pieces);
    return page + "<div class=\"scale\"><span>0</span><span>25</span><span>50</span><span>75</span><span>100&nbsp;%</span></div>\n</div>\n";
  }

  /// The name above a part and its share, as far as they fit on a wide page. A legend names the others.
  [[nodiscard]] own_string name_above(stacked_bar::part const& what, double begin, double share) const {
    constexpr double page = 1104.0;  // pixels
    constexpr double letter = 7.0;
    double const room = share * page / letter;
    double const name = static_cast<double>(what.name.size());
    if (name > room && is_named_by_legend(what)) return {};
    own_string const percent = name + 7.0 > room ? own_string{} : own_format(" {:.1f}&nbsp;%", 100.0 * share);
    return own_format("<span style=\"left:{};max-width:{}\"><b>{}</b>{}</span>", html_percent(begin), html_percent(share),
                      html_text(what.name, 80), percent);
  }

  /// Whether the legend already explains the colour of the part.
  [[nodiscard]] bool is_named_by_legend(stacked_bar::part const& what) const {
    return what.inside.size() == 1 && std::any_of(figure_.legend.begin(), figure_.legend.end(), [&](auto const& each) {
             return each.first.meaning == what.inside.front().meaning && each.second == what.name;
           });
  }

  static own_string part(stacked_bar::part const& what, double time, double total, std::string const& unit, bool is_plain) {
    own_string page = own_format("<div class=\"part\" style=\"width:{}\">", html_percent(time / total));
    for (bar_part const& each : what.inside) {
      double const value = amount_or_zero(each.value);
      if (!(value > 0.0)) continue;
      std::string_view const meaning = is_plain ? std::string_view{} : names_of(each.meaning).words;
      own_string const amount = html_amount(value) + "&nbsp;" + html_text(unit, 20);
      std::string const name = html_text(what.name, 80);
      page += own_format("<i class=\"{}\" style=\"width:{}\" title=\"{}{}{}: {} ({:.1f}&nbsp;%)\">", html_colour(each),
                         html_percent(value / time), name, meaning.empty() ? "" : ", ", meaning, amount, 100.0 * value / total);
      if (value / total >= min_labelled && is_plain) {
        page += "<b>" + amount + "</b>";
      } else if (value / total >= min_labelled && !meaning.empty()) {
        page += each.meaning == colour::busy ? own_format("<b>{} busy</b>", amount) : own_format("<b>{} {}</b>", meaning, amount);
      }
      page += "</i>";
    }
    return page + "</div>";
  }

  bars_figure const& figure_;
  html_limits limits_;
};

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

}  // namespace PROFKIT_NAMESPACE::detail
