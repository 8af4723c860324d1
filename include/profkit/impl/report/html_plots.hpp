// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>

#include "../../document.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "html_page.hpp"
#include "numbers.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// Horizontal lines across a picture at the ticks of its vertical axis, with the texts of the ticks at their left.
/// @param pixels_of called with a value; returns its distance from the upper edge.
template <class Pixels>
own_string html_grid(html_axis const& axis, Pixels const& pixels_of) {
  own_string page;
  for (double const tick : axis.ticks()) {
    double const at = pixels_of(tick);
    page += own_format("<line class=\"grid\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/><text class=\"tick\" x=\"-8\" y=\"{1}\">{2}</text>\n",
                       html_number(at, 1), html_number(at + 4.0, 1), axis.label(tick));
  }
  return page;
}

/// The place of a label. The unit of `left` and `right` is any.
struct label_box {
  double left, right;
  double top;  ///< pixels
};

/// Reserves the place of a label if it is free.
inline bool take_place(label_box const& next, own_vector<label_box>& taken) {
  constexpr double line_height = 13.0;
  bool const is_free = std::none_of(taken.begin(), taken.end(), [&](label_box const& other) {
    return next.left < other.right && other.left < next.right && std::abs(next.top - other.top) < line_height;
  });
  if (is_free) taken.push_back(next);
  return is_free;
}

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
    page += html_grid(y_, [&](double tick) { return y_pixels(tick); });
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

/// Prints a roofline: performance against operational intensity, both logarithmic, under the limits of the device (Williams, Waterman,
/// Patterson: Roofline, CACM 52(4), 2009). The area of a mark is its share of the step.
class html_roofline {
 public:
  html_roofline(roofline_figure const& figure, html_limits const& limits)
      : figure_{figure}, limits_{limits}, x_{intensity_axis(figure)}, y_{performance_axis(figure)} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    own_vector<label_box> taken;
    own_string page = own_format("<div class=\"plot roofline\" role=\"img\" aria-label=\"{}\">\n<svg class=\"main\" height=\"{}\">\n{}{}",
                                 html_text(finding), static_cast<int>(bottom) + 22, grid(), roofs(taken) + memory());
    std::size_t shown = 0;
    for (roofline_figure::point const& each : figure_.points) {
      if (shown++ == limits_.points) break;
      page += point(each, taken);
    }
    return page +
           "</svg>\n</div>\n<p class=\"axis\">FLOP per byte of memory traffic; vertical: FLOP/s. Both axes are logarithmic. Area of a "
           "mark: share of "
           "the step." +
           (figure_.memory ? " Dashed: what the memory moved in the whole run, mean and range of windows, by the device's counters." : "") +
           "</p>\n";
  }

 private:
  static constexpr double top = 10.0;
  static constexpr double bottom = 270.0;

  static html_log_axis intensity_axis(roofline_figure const& figure) {
    double low = 1.0;
    double high = 10.0;
    for (roofline_figure::point const& each : figure.points) {
      if (!(amount_or_zero(each.flops_per_byte) > 0.0)) continue;
      low = std::min(low, each.flops_per_byte);
      high = std::max(high, each.flops_per_byte);
    }
    // The picture includes the ridge, where the roofs of memory and arithmetic meet.
    double const bandwidth = highest(figure, &roofline_figure::roof::bytes_per_second);
    if (bandwidth > 0.0) high = std::max(high, 3.0 * highest(figure, &roofline_figure::roof::flops_per_second) / bandwidth);
    return {std::max(low, 1e-4), std::min(high, 1e6)};
  }

  static html_log_axis performance_axis(roofline_figure const& figure) {
    double high = highest(figure, &roofline_figure::roof::flops_per_second);
    double low = high > 0.0 ? high / 1000.0 : 1e9;
    for (roofline_figure::point const& each : figure.points) {
      if (!(amount_or_zero(each.flops_per_second) > 0.0)) continue;
      low = std::min(low, each.flops_per_second);
      high = std::max(high, each.flops_per_second);
    }
    return {std::max(low, high * 1e-8), high};
  }

  static double highest(roofline_figure const& figure, double roofline_figure::roof::*member) {
    double result = 0.0;
    for (roofline_figure::roof const& each : figure.roofs) result = std::max(result, amount_or_zero(each.*member));
    return result;
  }

  [[nodiscard]] double y(double value) const { return bottom - y_.share(value) * (bottom - top); }

  /// 10^12 -> "1 T"
  static own_string power_text(int power) {
    if (power < 0) return own_format("{:.{}f}", std::pow(10.0, power), -power);
    static constexpr char const* prefixes[] = {"", "&nbsp;k", "&nbsp;M", "&nbsp;G", "&nbsp;T", "&nbsp;P", "&nbsp;E"};
    int const thousands = std::min(power / 3, 6);
    return own_format("{:.0f}{}", std::pow(10.0, power - 3 * thousands), prefixes[thousands]);
  }

  [[nodiscard]] own_string grid() const {
    own_string page;
    for (int power = y_.first_power(); power <= y_.last_power(); ++power) {
      std::string const at = html_number(y(std::pow(10.0, power)), 1);
      page += own_format(
          "<line class=\"grid\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/><text class=\"tick\" x=\"-8\" y=\"{0}\" dy=\"4\">{1}</text>\n", at,
          power_text(power));
    }
    for (int power = x_.first_power(); power <= x_.last_power(); ++power) {
      page += own_format(
          "<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"tick mid\" x=\"{0}\" y=\"{3}\">{4}</text>\n",
          html_percent(x_.share(std::pow(10.0, power))), top, bottom, bottom + 17.0, power_text(power));
    }
    return page;
  }

  /// Pixels of a narrow page. Names that do not overlap there do not overlap on wider pages.
  static constexpr double width = 640.0;
  static constexpr double letter = 6.8;

  /// Whether the label is below its line, because another roof lies closely above it.
  [[nodiscard]] bool is_label_below(double flops) const {
    constexpr double line_height = 18.0;
    return std::any_of(figure_.roofs.begin(), figure_.roofs.end(), [&](roofline_figure::roof const& each) {
      return amount_or_zero(each.flops_per_second) > flops && y(flops) - y(each.flops_per_second) < line_height;
    });
  }

  [[nodiscard]] own_string roofs(own_vector<label_box>& taken) const {
    own_string page;
    own_vector<double> drawn;  // bandwidths that are already drawn, because roofs of several precisions share them
    double const peak = highest(figure_, &roofline_figure::roof::flops_per_second);
    double const bandwidth = highest(figure_, &roofline_figure::roof::bytes_per_second);
    std::size_t shown = 0;
    for (roofline_figure::roof const& each : figure_.roofs) {
      if (shown++ == limits_.figures) break;
      double const flops = amount_or_zero(each.flops_per_second);
      double const bytes = amount_or_zero(each.bytes_per_second);
      if (flops > 0.0) {
        double const from = bandwidth > 0.0 ? flops / bandwidth : x_.low();
        page += own_format("<line class=\"roof\" x1=\"{0}\" x2=\"100%\" y1=\"{1}\" y2=\"{1}\"/>\n", html_percent(x_.share(from)),
                           html_number(y(flops), 1));
        double const label = y(flops) + (is_label_below(flops) ? 14.0 : -5.0);
        if (take_place({width - letter * static_cast<double>(one_line(each.name, 80).size()), width, label - 4.0}, taken)) {
          page += own_format("<text class=\"soft end\" x=\"100%\" y=\"{}\">{}</text>\n", html_number(label, 1), html_text(each.name, 80));
        }
      }
      if (!(bytes > 0.0) || std::find(drawn.begin(), drawn.end(), bytes) != drawn.end()) continue;
      page += memory_roof(bytes, peak > 0.0 ? peak : y_.high(), drawn.empty() || bytes > drawn.front());
      drawn.push_back(bytes);
    }
    return page;
  }

  /// The line from the left or lower edge of the picture to the highest roof of arithmetic.
  /// @param is_above whether its label is above the line.
  [[nodiscard]] own_string memory_roof(double bytes, double peak, bool is_above) const {
    double const from = std::max(x_.low(), y_.low() / bytes);
    double const to = std::min(x_.high(), peak / bytes);
    if (!(from < to)) return {};
    double const label = std::sqrt(from * to);
    return own_format(
        "<line class=\"roof\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/><text class=\"soft{}\" x=\"{}\" dx=\"{}\" "
        "y=\"{}\">{:.3g}&nbsp;TB/s</text>\n",
        html_percent(x_.share(from)), html_percent(x_.share(to)), html_number(y(from * bytes), 1), html_number(y(to * bytes), 1),
        is_above ? " end" : "", html_percent(x_.share(label)), is_above ? -8 : 8,
        html_number(y(label * bytes) + (is_above ? -4.0 : 14.0), 1), bytes / 1e12);
  }

  /// The measured bandwidth: the work of the whole run lies on this line, at any intensity.
  [[nodiscard]] own_string memory() const {
    if (!figure_.memory) return {};
    double const peak = highest(figure_, &roofline_figure::roof::flops_per_second);
    own_string page;
    for (double const bytes : {figure_.memory->low, figure_.memory->mean, figure_.memory->high}) {
      double const from = amount_or_zero(bytes) > 0.0 ? std::max(x_.low(), y_.low() / bytes) : x_.high();
      double const to = bytes > 0.0 ? std::min(x_.high(), (peak > 0.0 ? peak : y_.high()) / bytes) : 0.0;
      if (!(from < to)) continue;
      page += own_format("<line class=\"moved\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" data-t=\"the memory moved {:.3g} TB/s\"/>\n",
                         html_percent(x_.share(from)), html_percent(x_.share(to)), html_number(y(from * bytes), 1),
                         html_number(y(to * bytes), 1), bytes / 1e12);
    }
    return page;
  }

  /// A free place for a name beside a point. @return the horizontal position of its beginning or end, and its distance below the point.
  struct label_place {
    bool is_left = false;
    double below = 0.0;
  };
  static std::optional<label_place> place_of_label(own_vector<label_box>& taken, double across, double down, double radius,
                                                   std::size_t letters) {
    double const length = letter * static_cast<double>(letters);
    for (double const below : {0.0, -9.0, 9.0}) {
      for (bool const is_left : {across > 0.75, across <= 0.75}) {
        double const left = across * width + (is_left ? -radius - 4.0 - length : radius + 4.0);
        label_box const next{left, left + length, down + below};
        if (next.left >= 0.0 && next.right <= width && take_place(next, taken)) return label_place{is_left, below};
      }
    }
    return std::nullopt;
  }

  /// A point with its name. If there is no free place, only the tooltip and the table have the name.
  [[nodiscard]] own_string point(roofline_figure::point const& what, own_vector<label_box>& taken) const {
    if (!(amount_or_zero(what.flops_per_byte) > 0.0) || !(amount_or_zero(what.flops_per_second) > 0.0)) return {};
    constexpr double max_radius = 22.0;
    double const radius = std::max(3.0, max_radius * std::sqrt(std::min(amount_or_zero(what.share_of_step), 1.0)));
    double const across = x_.share(what.flops_per_byte);
    double const down = y(what.flops_per_second);
    std::optional<label_place> const place = place_of_label(taken, across, down, radius, one_line(what.name, 80).size());
    std::string const name = html_text(what.name, 80);
    own_string page = own_format(
        "<circle class=\"usual\" cx=\"{0}\" cy=\"{1}\" r=\"{2}\" data-t=\"{3}: {4:.3g} FLOP per byte, {5:.3g} FLOP/s, {6:.1f} % of the "
        "step\"/>\n",
        html_percent(across), html_number(down, 1), html_number(radius, 1), name, what.flops_per_byte, what.flops_per_second,
        100.0 * amount_or_zero(what.share_of_step));
    if (place) {
      page += own_format("<text class=\"label{}\" x=\"{}\" dx=\"{}\" y=\"{}\" dy=\"{}\">{}</text>\n", place->is_left ? " end" : "",
                         html_percent(across), html_number(place->is_left ? -radius - 4.0 : radius + 4.0, 1), html_number(down, 1),
                         html_number(4.0 + place->below, 1), name);
    }
    return page;
  }

  roofline_figure const& figure_;
  html_limits limits_;
  html_log_axis x_;
  html_log_axis y_;
};

}  // namespace PROFKIT_NAMESPACE::detail
