// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/html_page.hpp>
#include <profkit/impl/report/html_plots.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>

namespace PROFKIT_NAMESPACE::detail {

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

inline own_string html_of(waterfall_figure const& figure, std::string const& finding, html_limits const& limits) {
  return html_waterfall{figure, limits}.print(finding);
}

/// A value for each run of two variants, in order of time.
struct pairs_figure {
  std::string title;  ///< meaning of the values: "mean step in ms"
  own_vector<double> before;
  own_vector<double> after;
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
    page += html_grid(axis_, [&](double tick) { return pixels(tick); });
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

inline own_string html_of(pairs_figure const& figure, std::string const& finding, html_limits const& limits) {
  return html_pairs{figure, limits}.print(finding);
}

}  // namespace PROFKIT_NAMESPACE::detail
