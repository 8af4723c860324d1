// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "html_page.hpp"
#include "html_plots.hpp"
#include "numbers.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A step in the picture of steps. If there are more steps than marks, a mark stands for several neighbouring steps.
struct step_mark {
  using role = plotted_step::role;

  std::uint64_t first = 0;  ///< index of the step
  std::uint64_t last = 0;
  role is = role::usual;
  double low = 0.0;  ///< minimum of the steps with the role `is`, ms
  double median = 0.0;
  double high = 0.0;
  double max_odd = 0.0;  ///< maximum of the outliers and steps of other kinds among usual steps, ms; 0: none
  std::string label{};

  [[nodiscard]] static char const* css_class(role is) {
    switch (is) {
      case role::warmup:
        return "warm";
      case role::outlier:
      case role::other_kind:
        return "odd";
      case role::excluded:
        return "excl";
      case role::usual:
        break;
    }
    return "usual";
  }

  [[nodiscard]] std::string tooltip() const {
    std::string text = first == last ? fmt::format("step {}: {:.5g} ms", first, median)
                                     : fmt::format("steps {} to {}: {:.5g} to {:.5g} ms, median {:.5g} ms", first, last, low, high, median);
    if (is == role::warmup) text += ", warm-up";
    if (is == role::excluded) text += ", excluded";
    return text;
  }
};

/// @param most maximum number of marks. Warm-up steps have their own marks, so there can be one more.
inline own_vector<step_mark> step_marks(own_vector<plotted_step> const& steps, std::size_t most) {
  using role = plotted_step::role;
  own_vector<step_mark> result;
  std::size_t const size = std::max<std::size_t>(1, (steps.size() + most - 1) / std::max<std::size_t>(most, 1));
  auto const is_odd = [](role is) { return is == role::outlier || is == role::other_kind; };
  for (std::size_t i = 0; i < steps.size();) {
    std::size_t end = i;
    while (end < steps.size() && end < i + size && (steps[end].is == role::warmup) == (steps[i].is == role::warmup)) ++end;
    step_mark mark;
    mark.first = steps[i].index;
    mark.last = steps[end - 1].index;
    mark.is = steps[i].is;
    for (std::size_t k = i; k < end; ++k) {
      if (steps[k].is == role::usual) mark.is = role::usual;
    }
    own_vector<double> times;
    for (; i < end; ++i) {
      double const time = amount_or_zero(steps[i].ms);
      if (steps[i].is == mark.is) times.push_back(time);
      if (steps[i].is != mark.is && is_odd(steps[i].is)) mark.max_odd = std::max(mark.max_odd, time);
      if (mark.label.empty()) mark.label = steps[i].label;
    }
    std::sort(times.begin(), times.end());
    mark.low = times.front();
    mark.median = times[times.size() / 2];
    mark.high = times.back();
    result.push_back(std::move(mark));
  }
  return result;
}

/// Prints the histogram of the usual steps, at the right of the figure of steps.
/// @param usual times of the usual steps, in ms.
/// @param axis the vertical axis of the usual steps.
/// @param panel_top, panel_bottom where the axis ends and begins, in pixels from the top of the picture.
inline own_string steps_histogram(steps_figure const& figure, own_vector<double> const& usual, html_axis const& axis, double panel_top,
                                  double panel_bottom) {
  own_string page = own_format("<text class=\"label\" y=\"36\">all steps, from zero</text><text class=\"soft\" y=\"52\">{}</text>\n",
                               html_text(figure.quantity, max_shown_text));
  auto const bins = static_cast<std::size_t>(std::clamp(2.0 * std::sqrt(static_cast<double>(usual.size())), 8.0, 20.0));
  own_vector<std::size_t> counts(bins, 0);
  for (double const each : usual) {
    double const position = std::clamp(axis.share(each), 0.0, 1.0) * static_cast<double>(bins);
    ++counts[std::min(static_cast<std::size_t>(position), bins - 1)];
  }
  auto const most = std::max_element(counts.begin(), counts.end());
  double const bin_height = (panel_bottom - panel_top) / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    if (counts[i] == 0) continue;
    double const top = panel_bottom - static_cast<double>(i + 1) * bin_height;
    page += own_format("<rect class=\"bin\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", html_number(top + 0.5, 1),
                       html_percent(0.66 * static_cast<double>(counts[i]) / static_cast<double>(*most)), html_number(bin_height - 1.0, 1));
    if (most - counts.begin() != static_cast<std::ptrdiff_t>(i)) continue;
    page += own_format("<text class=\"soft\" x=\"66%\" dx=\"6\" y=\"{}\">{} step{}</text>\n", html_number(top + bin_height / 2.0 + 4.0, 1),
                       *most, *most == 1 ? "" : "s");
  }
  if (figure.mean > 0.0 && axis.contains(figure.mean)) {
    page += own_format("<line class=\"mean\" x2=\"66%\" y1=\"{0}\" y2=\"{0}\"/>\n",
                       html_number(panel_bottom - axis.share(figure.mean) * (panel_bottom - panel_top), 1));
  }
  return page + own_format("<line class=\"rule\" y1=\"{}\" y2=\"{}\"/><text class=\"tick start\" y=\"{}\">number of steps</text>\n",
                           panel_top, panel_bottom, panel_bottom + 17.0);
}

/// Prints the figure of steps. At the top, a strip shows all steps as bars from zero. Below it are the usual steps enlarged, with the
/// interval of their mean, and at the right their histogram on the same axis. Horizontal positions are percentages, so that text keeps its
/// size at any width.
class html_steps {
 public:
  html_steps(steps_figure const& figure, html_limits const& limits)
      : figure_{figure}, marks_{step_marks(figure.steps, figure.steps.size() > limits.points ? limits.points * 2 / 5 : limits.points)} {}

  [[nodiscard]] own_string print(std::string const& finding) const {
    if (marks_.empty()) return {};
    own_vector<double> const usual = usual_times();
    html_axis const enlarged = enlarged_axis(usual);
    own_string page = figure_.title.empty() ? std::string{} : "<h3>" + html_text(figure_.title, max_shown_text) + "</h3>\n";
    page += own_format("<div class=\"plot steps{}\" role=\"img\" aria-label=\"{}\">\n", figure_.common_scale ? " alone" : "",
                       html_text(finding));
    page +=
        own_format("<svg class=\"main\" height=\"{}\">\n{}{}{}{}</svg>\n", height, warmup_shade(), strip(), panel(enlarged), step_axis());
    if (!figure_.common_scale)
      page += own_format("<svg class=\"side\" height=\"{}\">\n{}</svg>\n", height,
                         steps_histogram(figure_, usual, enlarged, panel_top, panel_bottom));
    page += "</div>\n";
    page += "<p class=\"axis\">usual steps, enlarged: axis from " + enlarged.beginning() + " ms; <b>&#9650;</b> steps beyond it";
    if (figure_.mean > 0.0 && !enlarged.contains(figure_.mean)) {
      page += "; the mean, " + html_number(figure_.mean, 3) + "&nbsp;ms, is beyond it";
    } else if (figure_.half_interval > 0.0) {
      page += "; band: 95&nbsp;% interval of the mean";
    }
    if (!figure_.levels.empty()) page += "; thick lines: mean of each level";
    if (marks_.size() < figure_.steps.size()) page += "; each mark shows minimum, median and maximum of several steps";
    return page + "</p>\n";
  }

 private:
  using role = plotted_step::role;

  // Pixels from the top of the picture.
  static constexpr double strip_top = 16.0;
  static constexpr double strip_bottom = 70.0;
  static constexpr double panel_top = 112.0;
  static constexpr double panel_bottom = 274.0;
  static constexpr int height = 294;

  [[nodiscard]] own_vector<double> usual_times() const {
    own_vector<double> result;
    for (plotted_step const& each : figure_.steps) {
      if (each.is == role::usual && is_finite(each.ms)) result.push_back(each.ms);
    }
    if (!result.empty()) return result;
    for (step_mark const& each : marks_) result.push_back(each.median);
    return result;
  }

  [[nodiscard]] html_axis enlarged_axis(own_vector<double> const& usual) const {
    auto const ends = std::minmax_element(usual.begin(), usual.end());
    double const low = figure_.common_scale ? figure_.common_scale->low : *ends.first;
    double const high = figure_.common_scale ? figure_.common_scale->high : *ends.second;
    // Smaller differences would need labels with more digits than fit.
    double const margin = std::max(0.1 * (high - low), 2e-4 * high);
    return {std::max(0.0, low - margin), high + margin};
  }

  [[nodiscard]] own_string x(double position) const { return html_percent(position / static_cast<double>(marks_.size())); }
  [[nodiscard]] own_string centre(std::size_t i) const { return x(static_cast<double>(i) + 0.5); }
  static double y(html_axis const& axis, double value) { return panel_bottom - axis.share(value) * (panel_bottom - panel_top); }

  [[nodiscard]] std::size_t warmup_marks() const {
    auto const end = std::find_if(marks_.begin(), marks_.end(), [](step_mark const& each) { return each.is != role::warmup; });
    return static_cast<std::size_t>(end - marks_.begin());
  }

  [[nodiscard]] own_string warmup_shade() const {
    std::size_t const count = warmup_marks();
    if (count == 0) return {};
    return own_format(
        "<rect class=\"shade\" x=\"0\" y=\"6\" width=\"{}\" height=\"{}\"/><text class=\"soft\" x=\"4\" y=\"91\">warm-up</text>\n",
        x(static_cast<double>(count)), panel_bottom - 6.0);
  }

  [[nodiscard]] own_string strip() const {
    double largest = figure_.common_scale ? amount_or_zero(figure_.common_scale->largest) : 0.0;
    for (step_mark const& each : marks_) largest = std::max({largest, each.high, each.max_odd});
    html_axis const axis{0.0, largest > 0.0 ? largest : 1.0, 3};
    auto const strip_y = [&](double value) { return strip_bottom - axis.share(value) * (strip_bottom - strip_top); };
    double const bar = std::min(0.4, 0.03 * static_cast<double>(marks_.size()));  // a small number of steps has narrow bars
    own_string page = html_grid(axis, strip_y);
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      step_mark const& each = marks_[i];
      double const top = strip_y(each.median);
      if (each.max_odd > 0.0) {
        page +=
            own_format("<rect class=\"odd\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"/>\n", x(static_cast<double>(i) + 0.5 - bar / 2.0),
                       x(bar), html_number(strip_y(each.max_odd), 1), html_number(strip_bottom - strip_y(each.max_odd), 1));
      }
      page += own_format("<rect class=\"{}\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\" data-t=\"{}\"/>\n", step_mark::css_class(each.is),
                         x(static_cast<double>(i) + 0.5 - bar / 2.0), x(bar), html_number(top, 1),
                         html_number(std::max(strip_bottom - top, 0.5), 1), each.tooltip());
      if (each.high > each.median) {
        page += own_format("<line class=\"whisker\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", centre(i),
                           html_number(strip_y(each.high), 1), html_number(top, 1));
      }
    }
    return page + labels(strip_y);
  }

  /// Labels of single steps, where they do not overlap.
  template <class Y>
  [[nodiscard]] own_string labels(Y const& strip_y) const {
    own_string page;
    own_vector<label_box> taken;
    constexpr double narrow = 480.0;  // pixels of the picture on a narrow page
    constexpr double letter = 6.6;
    for (std::size_t const i : labelled_marks()) {
      step_mark const& each = marks_[i];
      double const at = (static_cast<double>(i) + 0.5) / static_cast<double>(marks_.size());
      bool const to_left = at > 0.5;
      double const length = letter * static_cast<double>(each.label.size()) / narrow;
      double const beside = std::max(std::min(strip_y(each.median) + 9.0, strip_y(largest_beside(i, length, to_left)) - 4.0), 12.0);
      if (!take_place({to_left ? at - length : at, to_left ? at : at + length, beside}, taken)) continue;
      // A label above its bar begins there; beside it, it keeps a distance.
      bool const is_above = beside < strip_y(each.median);
      double const edge = is_above ? 0.2 : -0.2;
      page += own_format("<text class=\"{}\" x=\"{}\" dx=\"{}\" y=\"{}\">{}</text>\n", to_left ? "label end" : "label",
                         x(static_cast<double>(i) + 0.5 + (to_left ? edge : -edge)),
                         is_above  ? 0
                         : to_left ? -5
                                   : 5,
                         html_number(beside, 1), html_text(each.label, max_shown_text));
    }
    return page;
  }

  /// The longest other step whose bar a label crosses. @param length of the label, as a share of the picture.
  [[nodiscard]] double largest_beside(std::size_t i, double length, bool to_left) const {
    auto const marks = static_cast<std::size_t>(std::ceil(length * static_cast<double>(marks_.size())));
    double result = 0.0;
    for (std::size_t k = 1; k <= marks; ++k) {
      if (to_left ? k > i : i + k >= marks_.size()) break;
      step_mark const& other = marks_[to_left ? i - k : i + k];
      result = std::max({result, other.median, other.max_odd});
    }
    return result;
  }

  /// Marks with a label, the longest steps first.
  [[nodiscard]] own_vector<std::size_t> labelled_marks() const {
    own_vector<std::size_t> result;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (!marks_[i].label.empty()) result.push_back(i);
    }
    own_stable_sort(result.begin(), result.end(), [&](std::size_t a, std::size_t b) { return marks_[a].median > marks_[b].median; });
    return result;
  }

  [[nodiscard]] own_string panel(html_axis const& axis) const {
    own_string page = html_grid(axis, [&](double tick) { return y(axis, tick); });
    double const begin = static_cast<double>(warmup_marks());
    own_string const width = x(static_cast<double>(marks_.size()) - begin);
    if (figure_.half_interval > 0.0 && axis.contains(figure_.mean)) {
      double const top = y(axis, std::min(figure_.mean + figure_.half_interval, axis.high()));
      double const bottom = y(axis, std::max(figure_.mean - figure_.half_interval, axis.low()));
      page += own_format("<rect class=\"band\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"/>\n", x(begin), width, html_number(top, 1),
                         html_number(std::max(bottom - top, 0.5), 1));
    }
    if (figure_.mean > 0.0 && axis.contains(figure_.mean)) {
      page += own_format("<line class=\"mean\" x1=\"{0}\" x2=\"100%\" y1=\"{1}\" y2=\"{1}\"/>\n", x(begin),
                         html_number(y(axis, figure_.mean), 1));
    }
    page += levels(axis) + trace(axis);
    for (std::size_t i = 0; i < marks_.size(); ++i) page += dot(i, axis);
    return page;
  }

  [[nodiscard]] own_string levels(html_axis const& axis) const {
    own_string page;
    for (steps_figure::level const& each : figure_.levels) {
      auto const from = std::find_if(marks_.begin(), marks_.end(), [&](step_mark const& m) { return m.last >= each.from; });
      auto const to = std::find_if(from, marks_.end(), [&](step_mark const& m) { return m.first > each.to; });
      if (from == to || !axis.contains(each.ms)) continue;
      page +=
          own_format("<line class=\"level\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>\n", x(static_cast<double>(from - marks_.begin())),
                     x(static_cast<double>(to - marks_.begin())), html_number(y(axis, each.ms), 1));
    }
    return page;
  }

  /// The faint line between usual steps. It has its own coordinate system, because paths do not support percentages.
  [[nodiscard]] own_string trace(html_axis const& axis) const {
    own_string path;
    bool is_drawing = false;
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      bool const is_shown = marks_[i].is == role::usual && axis.contains(marks_[i].median);
      if (is_shown) {
        double const at = 1000.0 * (static_cast<double>(i) + 0.5) / static_cast<double>(marks_.size());
        path += own_format("{}{} {}", is_drawing ? "L" : "M", html_number(at, 1), html_number(y(axis, marks_[i].median), 1));
      }
      is_drawing = is_shown;
    }
    if (path.empty()) return {};
    return own_format(
        "<svg width=\"100%\" height=\"{0}\" viewBox=\"0 0 1000 {0}\" preserveAspectRatio=\"none\"><path class=\"trace\" "
        "d=\"{1}\"/></svg>\n",
        height, path);
  }

  [[nodiscard]] own_string dot(std::size_t i, html_axis const& axis) const {
    step_mark const& each = marks_[i];
    own_string page;
    auto const inside = [&](double value) { return html_number(y(axis, std::clamp(value, axis.low(), axis.high())), 1); };
    if (each.high > each.low) {
      page += own_format("<line class=\"whisker\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n", centre(i), inside(each.low),
                         inside(each.high));
    }
    if (axis.contains(each.median)) {
      page += own_format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\" data-t=\"{}\"/>\n", step_mark::css_class(each.is), centre(i),
                         html_number(y(axis, each.median), 1), marks_.size() > 100 ? "2" : "4", each.tooltip());
    } else {
      page += triangle(i, each.median > axis.high(), each.is);
    }
    if (each.max_odd > axis.high()) page += triangle(i, true, role::outlier);
    return page;
  }

  [[nodiscard]] own_string triangle(std::size_t i, bool is_above, role is) const {
    return own_format("<svg x=\"{}\" y=\"{}\"><path class=\"{}\" d=\"{}\" data-t=\"{}\"/></svg>\n", centre(i),
                      is_above ? panel_top - 14.0 : panel_bottom - 9.0, step_mark::css_class(is),
                      is_above ? "M-5 9L0 0L5 9Z" : "M-5 0L0 9L5 0Z", marks_[i].tooltip());
  }

  [[nodiscard]] own_string step_axis() const {
    own_string page = own_format("<line class=\"rule\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>\n", panel_bottom);
    html_axis const axis{static_cast<double>(marks_.front().first), static_cast<double>(marks_.back().last), 8};
    for (double const tick : axis.ticks()) {
      auto const at =
          std::find_if(marks_.begin(), marks_.end(), [&](step_mark const& each) { return static_cast<double>(each.last) >= tick; });
      if (tick < 0.0 || std::abs(tick - std::round(tick)) > 1e-6 || at == marks_.end() || static_cast<double>(at->first) > tick) continue;
      auto const mark = static_cast<std::size_t>(at - marks_.begin());
      // At the right end, where the axis of the histogram begins, a centred number would reach beyond the picture.
      bool const is_last = marks_.size() > 100 && mark + 1 >= marks_.size() - marks_.size() / 100;
      page += own_format("<text class=\"tick{}\" x=\"{}\" y=\"{}\">{}</text>\n", is_last ? "" : " mid", is_last ? "100%" : centre(mark),
                         panel_bottom + 17.0, with_thousands(fmt::format("{:.0f}", tick)));
    }
    return page + own_format("<text class=\"tick\" x=\"-8\" y=\"{}\">step</text>\n", panel_bottom + 17.0);
  }

  steps_figure const& figure_;
  own_vector<step_mark> marks_;
};

}  // namespace PROFKIT_NAMESPACE::detail
