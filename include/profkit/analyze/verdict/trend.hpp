// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../time/select_quantile.hpp"
#include "cosine_series.hpp"
#include "noise_fit.hpp"
#include "outliers.hpp"

namespace profkit {

/// @brief The linear trend of a series.
struct trend {
  double drift = 0.0;    ///< from the first value to the last on the fitted line
  double p_value = 1.0;  ///< probability of a drift this large by chance
};

namespace detail {

/// Theil and Sen's slope per value: the median of the slopes between all pairs. Longer series than 1000 values are averaged in blocks.
inline double median_slope(detail::own_vector<double> const& values) {
  constexpr std::size_t max_points = 1000;
  detail::own_vector<double> const points = at_most_points(values, max_points);
  detail::own_vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  for (std::size_t late = 1; late < points.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) slopes.push_back((points[late] - points[early]) / static_cast<double>(late - early));
  }
  double const slope = *select_quantile(slopes.begin(), slopes.end(), 0.5, [](double each) { return each; });
  std::size_t const values_per_point = values.size() / points.size();
  return slope / static_cast<double>(values_per_point);
}

/// The values 0, 1, 2, ...
inline detail::own_vector<double> line_of(std::size_t count) {
  detail::own_vector<double> line(count);
  for (std::size_t i = 0; i < count; ++i) line[i] = static_cast<double>(i);
  return line;
}

/// Clips values at 5 standard deviations (estimated by the MAD) around the line.
inline detail::own_vector<double> near_line(detail::own_vector<double> values, double slope) {
  constexpr double bound = 5.0;
  detail::own_vector<double> rest = values;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  auto const spread = median_and_mad(rest);
  double const reach = bound * spread->mad / 0.6745;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    values[i] = std::clamp(rest[i], spread->median - reach, spread->median + reach) + slope * static_cast<double>(i);
  }
  return values;
}

}  // namespace detail

/// @brief Finds the drift of a series. Its size is the drift of the Theil-Sen line, which is robust against single values. Its p-value is
/// the p-value of a straight line by generalized least squares, averaged over the `noise_models`, because slow noise looks like a trend.
///
/// n/a with fewer than 4 values. Takes quadratic time up to 1000 values, and linear time beyond.
/// Sources: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); `noise_fit`.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<trend> find_trend(::profkit::detail::own_vector<double> const& values) {
  if (values.size() < 4) return std::nullopt;
  double const slope = detail::median_slope(values);
  noise_fit const fit{values.size(), cosine_series{detail::near_line(values, slope)}, cosine_series{detail::line_of(values.size())}};
  return trend{slope * static_cast<double>(values.size() - 1), fit.change_p_value()};
}

}  // namespace profkit
