// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "html_page.hpp"
#include "html_plots.hpp"
#include "numbers.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// Prints the bars and ranges in the cells of one column, with one scale.
class html_cells {
 public:
  html_cells(data_table const& table, std::size_t column)
      : kind_{table.columns[column].kind}, numbers_{table, column}, strip_{axis_of(table, column)}, changes_{table, column} {
    for (row const& each : table.rows) {
      if (column >= each.cells.size()) continue;
      if (bar_cell const* const bar = std::get_if<bar_cell>(&each.cells[column].value)) {
        double sum = 0.0;
        for (bar_part const& part : bar->parts) {
          sum += amount_or_zero(part.value);
          add_colour(part);
        }
        max_bar_ = std::max(max_bar_, sum);
      }
      if (range_cell const* const range = std::get_if<range_cell>(&each.cells[column].value)) {
        max_amount_ = std::max(max_amount_, amount_or_zero(range->high));
      }
    }
  }

  [[nodiscard]] column_numbers const& numbers() const noexcept { return numbers_; }

  /// The colours of the bars in the column. Excludes the colours of kernel classes, which have a column with their names.
  [[nodiscard]] own_vector<bar_part> const& colours() const noexcept { return colours_; }

  /// The axis of a logarithmic column, under its heading.
  [[nodiscard]] own_string axis() const {
    own_string page = "<span class=\"decades\">";
    bool const is_crowded = strip_.last_power() - strip_.first_power() > 1;
    for (int power = strip_.first_power(); power <= strip_.last_power(); ++power) {
      bool const is_end = power == strip_.first_power() || power == strip_.last_power();
      if (is_crowded && !is_end) continue;
      page += own_format("<small style=\"left:{}\">{}</small>", html_percent(strip_.share(std::pow(10.0, power))), decade(power));
    }
    return page + "</span>";
  }

  /// Width of one decade, for the grid behind the ranges.
  [[nodiscard]] own_string decade_width() const { return html_percent(1.0 / (strip_.last_power() - strip_.first_power())); }

  /// The axis of a column of changes, under its heading.
  [[nodiscard]] own_string change_axis() const { return changes_.print(); }
  [[nodiscard]] own_string print(change_cell const& change) const { return changes_.print(change); }

  [[nodiscard]] own_string print(bar_cell const& bar) const {
    own_string page = "<div class=\"bar\">";
    for (bar_part const& part : bar.parts) {
      double const value = amount_or_zero(part.value);
      if (value > 0.0) page += own_format("<i class=\"{}\" style=\"width:{}\"></i>", html_colour(part), html_percent(value / max_bar_));
    }
    return page + "</div>";
  }

  [[nodiscard]] own_string print(range_cell const& range) const {
    std::string const words =
        numbers_.text(range.low) + " to " + numbers_.text(range.high) + " " + numbers_.unit() + ", mean " + numbers_.text(range.mean);
    if (kind_ == column_kind::logarithmic_range) {
      return strip(words, strip_.share(range.low), strip_.share(range.mean), strip_.share(range.high), " class=\"log\"");
    }
    auto const share = [&](double value) { return max_amount_ > 0.0 ? amount_or_zero(value) / max_amount_ : 0.0; };
    own_string page =
        range.values.empty() ? strip(words, share(range.low), share(range.mean), share(range.high), "") : siblings(words, range.values);
    page += own_format(" {}&#8211;{}", html_text(numbers_.text(range.low)), html_text(numbers_.text(range.high)));
    if (!range.remark.empty()) page += "<span class=\"odd\">, " + html_text(range.remark, max_shown_text) + "</span>";
    return page;
  }

 private:
  static constexpr std::size_t max_siblings = 64;

  static html_log_axis axis_of(data_table const& table, std::size_t column) {
    double low = 0.0;
    double high = 0.0;
    for (row const& each : table.rows) {
      if (column >= each.cells.size()) continue;
      range_cell const* const range = std::get_if<range_cell>(&each.cells[column].value);
      if (range == nullptr || !(amount_or_zero(range->high) > 0.0)) continue;
      double const least = amount_or_zero(range->low) > 0.0 ? range->low : range->high;
      low = low > 0.0 ? std::min(low, least) : least;
      high = std::max(high, range->high);
    }
    return high > 0.0 ? html_log_axis{low, high} : html_log_axis{1.0, 10.0};
  }

  /// 10^power ms
  static own_string decade(int power) {
    int const in_ns = power + 6;
    if (in_ns < 0) return "&lt;1&nbsp;ns";
    static constexpr char const* units[] = {"ns", "&#181;s", "ms", "s"};
    int const unit = std::min(in_ns / 3, 3);
    int const zeros = in_ns - 3 * unit;
    std::string const number = "1" + std::string(static_cast<std::size_t>(std::min(zeros, 9)), '0');
    return number + "&nbsp;" + units[unit];
  }

  void add_colour(bar_part const& part) {
    if (part.meaning == colour::kernel_class) return;
    bool const is_there = std::any_of(colours_.begin(), colours_.end(), [&](bar_part const& each) { return each.meaning == part.meaning; });
    if (!is_there) colours_.push_back(part);
  }

  static own_string strip(std::string const& words, double low, double mean, double high, char const* css_class) {
    return own_format(
        "<svg{} role=\"img\" aria-label=\"{}\" data-t=\"{}\" width=\"100\" height=\"12\"><path class=\"reach\" d=\"M{} 6H{}\"/><path "
        "class=\"at\" d=\"M{} 1V11\"/></svg>",
        css_class, html_text(words), html_text(words), html_number(100.0 * low, 1),
        html_number(std::max(100.0 * high, 100.0 * low + 1.0), 1), html_number(100.0 * mean, 1));
  }

  /// Small bars, one for each sibling. Bars over twice or under half of the median are marked and do not affect the scale.
  static own_string siblings(std::string const& words, own_vector<double> const& values) {
    own_vector<double> sorted;
    sorted.reserve(values.size());
    for (double const each : values) sorted.push_back(amount_or_zero(each));
    std::sort(sorted.begin(), sorted.end());
    double const median = sorted[sorted.size() / 2];
    auto const is_odd = [&](double value) { return value > 2.0 * median || value < median / 2.0; };
    double scale = 0.0;
    for (double const each : sorted) {
      if (!is_odd(each)) scale = std::max(scale, each);
    }
    constexpr double height = 14.0;
    constexpr double width = 60.0;
    std::size_t const stride = (values.size() + max_siblings - 1) / max_siblings;
    double const pitch = width * static_cast<double>(stride) / static_cast<double>(values.size());
    own_string usual;
    own_string odd;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      double const left = pitch * static_cast<double>(i) / static_cast<double>(stride);
      double value = 0.0;
      for (std::size_t k = i; k < std::min(i + stride, values.size()); ++k) value = std::max(value, amount_or_zero(values[k]));
      double const share = scale > 0.0 ? std::min(value / scale, 1.0) : 0.0;
      (is_odd(value) ? odd : usual) +=
          own_format("M{} {}v-{}", html_number(left + pitch / 2.0, 1), height, html_number(std::max(share * height, 0.5), 1));
    }
    std::string const stroke = html_number(std::min(std::max(pitch * 0.75, 0.5), 6.0), 1);
    own_string page = own_format("<svg role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\">", html_text(words), width, height);
    if (!usual.empty()) page += own_format("<path class=\"each\" stroke-width=\"{}\" d=\"{}\"/>", stroke, usual);
    if (!odd.empty()) page += own_format("<path class=\"each odd\" stroke-width=\"{}\" d=\"{}\"/>", stroke, odd);
    return page + "</svg>";
  }

  column_kind kind_;
  column_numbers numbers_;
  html_log_axis strip_;
  html_change_axis changes_;
  own_vector<bar_part> colours_;
  double max_bar_ = 0.0;
  double max_amount_ = 0.0;
};

}  // namespace PROFKIT_NAMESPACE::detail
