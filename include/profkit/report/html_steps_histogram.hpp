// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../profile/own_memory.hpp"
#include "document.hpp"
#include "html_axis.hpp"
#include "html_text.hpp"
#include "own_format.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
