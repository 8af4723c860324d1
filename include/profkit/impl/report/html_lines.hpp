// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "../../document.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "html_page.hpp"
#include "numbers.hpp"

namespace profkit::detail {

/// An axis of a picture. Maps values to shares of its length and chooses round ticks.
class html_axis {
 public:
  /// @param wanted approximate number of intervals between ticks.
  html_axis(double low, double high, int wanted = 4) : low_{bounded(low, 0.0)}, high_{bounded(high, 1.0)} {
    if (!(high_ - low_ > std::max(1e-9 * std::max(std::abs(low_), std::abs(high_)), 1e-9))) {  // all values are equal
      double const margin = std::max(std::abs(low_) * 0.01, 1e-6);
      low_ -= margin;
      high_ = low_ + 2.0 * margin;
    }
    double const raw = (high_ - low_) / wanted;
    double const power = std::pow(10.0, std::floor(std::log10(raw)));
    double const leading = raw / power;
    step_ = power * (leading <= 1.0 ? 1.0 : leading <= 2.0 ? 2.0 : leading <= 5.0 ? 5.0 : 10.0);
    decimals_ = std::clamp(static_cast<int>(-std::floor(std::log10(step_) + 1e-9)), 0, 6);
  }

  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }

  /// 0 at the low end, 1 at the high end; values outside the axis are below 0 or above 1.
  [[nodiscard]] double share(double value) const { return (bounded(value, low_) - low_) / (high_ - low_); }
  [[nodiscard]] bool contains(double value) const { return value >= low_ && value <= high_; }

  /// A few round values on the axis.
  [[nodiscard]] own_vector<double> ticks() const {
    own_vector<double> result;
    constexpr int most = 20;
    double const first = std::ceil(low_ / step_ - 1e-9);
    for (int i = 0; i < most; ++i) {
      double const tick = (first + i) * step_;
      if (tick > high_ + step_ * 1e-6) break;
      result.push_back(std::abs(tick) < step_ * 1e-6 ? 0.0 : tick);
    }
    return result;
  }

  /// The text of a tick.
  [[nodiscard]] std::string label(double tick) const { return with_thousands(fmt::format("{:.{}f}", tick, decimals_)); }

  /// The text of the low end, with one digit more than the ticks, because it lies between ticks.
  [[nodiscard]] std::string beginning() const { return with_thousands(fmt::format("{:.{}f}", low_, decimals_ + 1)); }

 private:
  /// Clips to a range larger than any time or size, so that differences are finite.
  static double bounded(double value, double otherwise) { return is_finite(value) ? std::clamp(value, -1e24, 1e24) : otherwise; }

  double low_;
  double high_;
  double step_ = 1.0;
  int decimals_ = 0;
};

/// A logarithmic axis that begins and ends at a power of ten.
class html_log_axis {
 public:
  html_log_axis(double low, double high)
      : low_{std::floor(std::log10(std::clamp(low, smallest, largest)) + 1e-9)},
        high_{std::ceil(std::log10(std::clamp(high, smallest, largest)) - 1e-9)} {
    if (high_ < low_ + 1.0) high_ = low_ + 1.0;
  }

  [[nodiscard]] int first_power() const noexcept { return static_cast<int>(low_); }
  [[nodiscard]] int last_power() const noexcept { return static_cast<int>(high_); }
  [[nodiscard]] double low() const { return std::pow(10.0, low_); }
  [[nodiscard]] double high() const { return std::pow(10.0, high_); }

  [[nodiscard]] double share(double value) const {
    return is_finite(value) ? std::clamp((std::log10(std::max(value, smallest)) - low_) / (high_ - low_), 0.0, 1.0) : 0.0;
  }

 private:
  static constexpr double smallest = 1e-9;
  static constexpr double largest = 1e24;

  double low_;
  double high_;
};

/// Prints lines over steps or time, such as memory and trends, with bands where the document has them. Lines differ in colour and in dash
/// pattern, so that they can be distinguished without colours.
class html_lines {
 public:
  html_lines(lines_figure const& figure, html_limits const& limits)
      : figure_{figure}, limits_{limits}, scale_{scale_of(figure)}, x_{extent(figure, false)}, y_{extent(figure, true)} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    if (figure_.lines.empty()) return {};
    own_string page = own_format("<div class=\"plot lines\" role=\"img\" aria-label=\"{}\">\n<svg class=\"main\" height=\"{}\">\n",
                                 html_text(finding), bottom + 22);
    for (double const tick : y_.ticks()) {
      double const at = y_pixels(tick);
      page += own_format("<line class=\"grid\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/><text class=\"tick\" x=\"-8\" y=\"{1}\">{2}</text>\n",
                         html_number(at, 1), html_number(at + 4.0, 1), y_.label(tick));
    }
    for (double const tick : x_.ticks()) {
      page +=
          own_format("<text class=\"tick mid\" x=\"{}\" y=\"{}\">{}</text>\n", html_percent(x_.share(tick)), bottom + 17, x_.label(tick));
    }
    page += own_format("<line class=\"rule\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>\n", bottom);
    page += own_format("<svg width=\"100%\" height=\"{0}\" viewBox=\"0 0 1000 {0}\" preserveAspectRatio=\"none\">\n", bottom + 1);
    std::size_t const count = std::min(figure_.lines.size(), limits_.figures);
    for (std::size_t i = 0; i < count; ++i) page += band(figure_.lines[i], i);
    for (std::size_t i = 0; i < count; ++i) page += line(figure_.lines[i], i);
    page += "</svg>\n</svg>\n</div>\n<p class=\"axis\">" + html_text(figure_.x_title, max_shown_text) +
            "; vertical: " + html_text(figure_.y_title, max_shown_text);
    if (!unit().empty()) page += ", " + unit();
    if (!figure_.begins_at_zero) page += ", axis from " + y_.label(y_.low());
    page += "</p>\n<p class=\"legend\">";
    for (std::size_t i = 0; i < count; ++i) {
      page += own_format("<span><svg width=\"26\" height=\"8\"><path class=\"line {}\" d=\"M0 4H26\"/></svg> {}</span> ", css_class(i),
                         html_text(figure_.lines[i].name, max_shown_text));
    }
    return page + "</p>\n";
  }

 private:
  static constexpr int top = 10;
  static constexpr int bottom = 190;

  struct limits_of_values {
    double low = 0.0;
    double high = 0.0;
    bool is_set = false;
    void add(double value) {
      if (!is_finite(value)) return;
      low = is_set ? std::min(low, value) : value;
      high = is_set ? std::max(high, value) : value;
      is_set = true;
    }
  };

  /// Unit of the vertical axis.
  struct scale {
    double divisor = 1.0;
    std::string unit{};
  };

  static limits_of_values values(lines_figure const& figure, bool vertical) {
    limits_of_values result;
    for (lines_figure::line const& each : figure.lines) {
      for (own_vector<double> const* const list :
           {vertical ? &each.y : &each.x, vertical ? &each.low : nullptr, vertical ? &each.high : nullptr}) {
        if (list == nullptr) continue;
        for (double const value : *list) result.add(value);
      }
    }
    return result;
  }

  static scale scale_of(lines_figure const& figure) {
    double const largest = values(figure, true).high;
    constexpr double kib = 1024.0;
    if (figure.y_kind == column_kind::share) return {0.01, "%"};
    if (figure.y_kind == column_kind::bytes) {
      if (largest >= kib * kib * kib) return {kib * kib * kib, "GiB"};
      return largest >= kib * kib ? scale{kib * kib, "MiB"} : scale{kib, "KiB"};
    }
    if (figure.y_kind != column_kind::milliseconds) return {};
    if (largest >= 1000.0) return {1000.0, "s"};
    return largest >= 1.0 ? scale{1.0, "ms"} : scale{0.001, "\xc2\xb5s"};
  }

  static html_axis extent(lines_figure const& figure, bool vertical) {
    limits_of_values found = values(figure, vertical);
    double const divisor = vertical ? scale_of(figure).divisor : 1.0;
    double const margin = vertical ? 0.05 * (found.high - found.low) : 0.0;
    if (vertical && figure.begins_at_zero) return {std::min(0.0, found.low / divisor), (found.high + margin) / divisor};
    return {(found.low - margin) / divisor, (found.high + margin) / divisor, vertical ? 4 : 8};
  }

  [[nodiscard]] std::string const& unit() const { return scale_.unit; }
  [[nodiscard]] double y_pixels(double scaled) const { return bottom - std::clamp(y_.share(scaled), 0.0, 1.0) * (bottom - top); }

  static own_string css_class(std::size_t i) { return own_format("l{}", i % 6); }

  /// The points of a line, in the coordinates of the inner picture. Beyond the limit, every n-th point and the last one.
  [[nodiscard]] own_string path(own_vector<double> const& x, own_vector<double> const& y, bool reversed) const {
    std::size_t const count = std::min(x.size(), y.size());
    std::size_t const stride = count / std::max<std::size_t>(limits_.points, 1) + 1;
    own_string result;
    for (std::size_t k = 0; k < count; ++k) {
      std::size_t const i = reversed ? count - 1 - k : k;
      if (i % stride != 0 && i + 1 != count) continue;
      if (!is_finite(x[i]) || !is_finite(y[i])) continue;
      result += own_format("{}{} {}", result.empty() ? "" : "L", html_number(1000.0 * x_.share(x[i]), 1),
                           html_number(y_pixels(y[i] / scale_.divisor), 1));
    }
    return result;
  }

  [[nodiscard]] own_string line(lines_figure::line const& what, std::size_t i) const {
    own_string const points = path(what.x, what.y, false);
    return points.empty() ? "" : own_format("<path class=\"line {}\" d=\"M{}\"/>\n", css_class(i), points);
  }

  [[nodiscard]] own_string band(lines_figure::line const& what, std::size_t i) const {
    own_string const above = path(what.x, what.high, false);
    own_string const below = path(what.x, what.low, true);
    return above.empty() || below.empty() ? "" : own_format("<path class=\"area {}\" d=\"M{}L{}Z\"/>\n", css_class(i), above, below);
  }

  lines_figure const& figure_;
  html_limits limits_;
  scale scale_;
  html_axis x_;
  html_axis y_;
};

}  // namespace profkit::detail
