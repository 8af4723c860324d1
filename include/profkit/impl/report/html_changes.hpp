// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_lines.hpp"
#include "html_page.hpp"
#include "numbers.hpp"

// Cells and figures of a comparison: changes with their ranges around zero, a difference as the sum of its parts, and pairs of runs.

namespace profkit::detail {

/// The axis of a column of changes. It is logarithmic, so that half and twice the time have the same distance from no change.
class html_change_axis {
 public:
  static constexpr int width = 210;  ///< pixels

  /// @param table the table; the axis shows all changes of the column, up to a factor of 8.
  html_change_axis(data_table const& table, std::size_t column) : margin_{table.columns[column].margin} {
    double largest = std::log(1.25);
    for (row const& each : table.rows) {
      change_cell const* const change = column < each.cells.size() ? std::get_if<change_cell>(&each.cells[column].value) : nullptr;
      if (change == nullptr) continue;
      for (double const value : {change->low, change->change, change->high}) largest = std::max(largest, std::abs(logarithm(value)));
    }
    reach_ = std::min(largest * 1.04, std::log(8.0));
  }

  /// The ticks, under the heading of the column.
  [[nodiscard]] own_string print() const {
    own_string page = own_format("<span class=\"ticks\" style=\"width:{}px\">", width);
    constexpr double text = 34.0;  // pixels of a tick's text
    double last = -1e9;
    for (double const tick : {-0.8, -0.6, -0.4, -0.2, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0}) {
      double const at = pixels(tick);
      bool const is_zero = tick == 0.0;
      bool const fits = at >= text / 2.0 && at <= width - text / 2.0 && at >= last + text;
      if (std::abs(logarithm(tick)) > reach_ || !fits || (!is_zero && std::abs(at - pixels(0.0)) < text)) continue;
      last = at;
      page += own_format("<small style=\"left:{}px\">{}{:.0f}{}</small>", html_number(at, 1),
                         tick < 0.0 ? "\xe2\x88\x92"
                         : is_zero  ? ""
                                    : "+",
                         std::abs(100.0 * tick), is_zero ? "&nbsp;%" : "");
    }
    return page + "</span>";
  }

  [[nodiscard]] own_string print(change_cell const& change) const {
    std::string const words = change_words(change);
    double const low = pixels(change.low);
    double const high = pixels(change.high);
    char const* const css = !change.is_certain ? "open" : change.change < 0.0 ? "better" : "worse";
    own_string page = own_format("<svg role=\"img\" aria-label=\"{0}\" data-t=\"{0}\" class=\"change {1}\" width=\"{2}\" height=\"16\">",
                                 html_text(words), css, width);
    page += own_format("<rect class=\"margin\" x=\"{}\" y=\"0\" width=\"{}\" height=\"16\"/>", html_number(pixels(-margin_), 1),
                       html_number(std::max(pixels(margin_) - pixels(-margin_), 1.0), 1));
    page += own_format("<path d=\"M{} 8H{}\"/>", html_number(low, 1), html_number(std::max(high, low + 1.0), 1));
    // An arrow marks a range that extends beyond the axis.
    if (logarithm(change.low) < -reach_) page += "<path class=\"cut\" d=\"M5 4L1 8L5 12\"/>";
    if (logarithm(change.high) > reach_) page += own_format("<path class=\"cut\" d=\"M{0} 4L{1} 8L{0} 12\"/>", width - 5, width - 1);
    return page + own_format("<circle cx=\"{}\" cy=\"8\" r=\"4\"/></svg>", html_number(pixels(change.change), 1));
  }

 private:
  static double logarithm(double change) { return is_finite(change) ? std::log(std::max(1.0 + change, 1e-9)) : 0.0; }

  [[nodiscard]] double pixels(double change) const { return width * (0.5 + 0.5 * std::clamp(logarithm(change) / reach_, -1.0, 1.0)); }

  double margin_;
  double reach_;  ///< logarithm of the change at the right end
};

/// Prints a difference as the sum of its parts, from the value before to the value after.
class html_waterfall {
 public:
  explicit html_waterfall(waterfall_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    std::size_t const count = std::min(figure_.parts.size(), limits_.figures);
    double low = std::min(figure_.before, figure_.after);
    double high = std::max(figure_.before, figure_.after);
    double at = figure_.before;
    for (std::size_t i = 0; i < count; ++i) {
      at += amount(figure_.parts[i].difference);
      low = std::min(low, at);
      high = std::max(high, at);
    }
    double const margin = 0.06 * (high - low) + 1e-3 * std::abs(high);
    html_axis const axis{low - margin, high + margin, 6};
    own_string page = own_format("<div class=\"falls\" role=\"img\" aria-label=\"{}\">\n", html_text(finding));
    page += point("before", figure_.before, axis);
    at = figure_.before;
    for (std::size_t i = 0; i < count; ++i) {
      waterfall_figure::part const& each = figure_.parts[i];
      double const next = at + amount(each.difference);
      char const* const css = each.is_certain ? (each.difference < 0.0 ? "better" : "worse") : "open";
      page += own_format(
          "<b title=\"{0}\">{0}</b><svg height=\"22\"><rect class=\"{1}\" x=\"{2}\" y=\"4\" width=\"{3}\" "
          "height=\"14\"/></svg><span>{4}</span>\n",
          html_text(each.name, max_shown_text), css, html_percent(axis.share(std::min(at, next))),
          html_percent(std::max(std::abs(axis.share(next) - axis.share(at)), 0.002)), html_text(each.label, max_shown_text));
      at = next;
    }
    page += point("after", figure_.after, axis) + "<b></b><svg height=\"18\">";
    for (double const tick : axis.ticks()) {
      page += own_format("<text class=\"tick mid\" x=\"{}\" y=\"13\">{}</text>", html_percent(axis.share(tick)), axis.label(tick));
    }
    return page + "</svg><span class=\"soft\">ms</span>\n</div>\n";
  }

 private:
  static double amount(double value) { return is_finite(value) ? value : 0.0; }

  static own_string point(char const* name, double value, html_axis const& axis) {
    return own_format(
        "<b class=\"end\">{}</b><svg height=\"22\"><svg x=\"{}\"><path class=\"point\" d=\"M0 5L6 11L0 17L-6 "
        "11Z\"/></svg></svg>"
        "<span class=\"end\">{}&nbsp;ms</span>\n",
        name, html_percent(axis.share(value)), column_numbers{column_kind::milliseconds, value}.text(value));
  }

  waterfall_figure const& figure_;
  html_limits limits_;
};

/// Prints the runs of both variants in order of time, with a line between the runs of each pair.
class html_pairs {
 public:
  html_pairs(pairs_figure const& figure, html_limits const& limits) : figure_{figure}, limits_{limits}, axis_{axis_of(figure)} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    std::size_t const count = std::min(std::max(figure_.before.size(), figure_.after.size()), limits_.points);
    if (count == 0) return {};
    own_string page = own_format("<div class=\"plot lines pairs\" role=\"img\" aria-label=\"{}\">\n<svg class=\"main\" height=\"{}\">\n",
                                 html_text(finding), bottom + 22);
    for (double const tick : axis_.ticks()) {
      double const at = pixels(tick);
      page += own_format("<line class=\"grid\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/><text class=\"tick\" x=\"-8\" y=\"{1}\">{2}</text>\n",
                         html_number(at, 1), html_number(at + 4.0, 1), axis_.label(tick));
    }
    std::size_t const stride = count / 24 + 1;
    for (std::size_t i = 0; i < count; ++i) {
      double const left = (static_cast<double>(i) + 0.38) / static_cast<double>(count);
      double const right = (static_cast<double>(i) + 0.62) / static_cast<double>(count);
      bool const has_before = i < figure_.before.size();
      bool const has_after = i < figure_.after.size();
      if (has_before && has_after) {
        page += own_format("<line class=\"whisker\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>", html_percent(left),
                           html_number(pixels(figure_.before[i]), 1), html_percent(right), html_number(pixels(figure_.after[i]), 1));
      }
      if (has_before) page += dot(left, figure_.before[i], "warm", i, "before");
      if (has_after) page += dot(right, figure_.after[i], "usual", i, "after");
      if (i % stride == 0) {
        page += own_format("<text class=\"tick mid\" x=\"{}\" y=\"{}\">{}</text>", html_percent((left + right) / 2.0), bottom + 17, i + 1);
      }
      page += "\n";
    }
    return page + "</svg>\n</div>\n<p class=\"axis\">" + html_text(figure_.title, max_shown_text) + ", axis from " + axis_.beginning() +
           "&nbsp;ms; hollow: before, filled: after</p>\n";
  }

 private:
  static constexpr int top = 10;
  static constexpr int bottom = 170;

  static html_axis axis_of(pairs_figure const& figure) {
    double low = 0.0;
    double high = 0.0;
    bool is_set = false;
    for (own_vector<double> const* const side : {&figure.before, &figure.after}) {
      for (double const each : *side) {
        if (!is_finite(each)) continue;
        low = is_set ? std::min(low, each) : each;
        high = is_set ? std::max(high, each) : each;
        is_set = true;
      }
    }
    double const margin = 0.08 * (high - low) + 1e-3 * std::abs(high);
    return {std::max(low - margin, std::min(low, 0.0)), high + margin};
  }

  [[nodiscard]] double pixels(double value) const { return bottom - std::clamp(axis_.share(value), 0.0, 1.0) * (bottom - top); }

  [[nodiscard]] own_string dot(double left, double value, char const* css, std::size_t run, char const* side) const {
    return own_format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"4\"><title>run {}, {}: {} ms</title></circle>", css, html_percent(left),
                      html_number(pixels(value), 1), run + 1, side, html_number(value, 4));
  }

  pairs_figure const& figure_;
  html_limits limits_;
  html_axis axis_;
};

}  // namespace profkit::detail
