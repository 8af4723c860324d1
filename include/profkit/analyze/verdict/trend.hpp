// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "../time/select_quantile.hpp"
#include "cosine_series.hpp"
#include "noise_fit.hpp"
#include "outliers.hpp"

namespace profkit {

/// Whether a series rises or falls from its beginning to its end.
struct trend {
  double drift = 0.0;    ///< from the first value to the last on the fitted line
  double p_value = 1.0;  ///< how probable a drift as large as that is by chance in a series without one
};

namespace detail {

/// Theil and Sen's slope per value: the median of the slopes between all pairs. Longer series than 1000 values are averaged in blocks.
inline double median_slope(std::vector<double> const& values) {
  constexpr std::size_t most_points = 1000;
  std::vector<double> const points = at_most_points(values, most_points);
  std::vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  for (std::size_t late = 1; late < points.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) slopes.push_back((points[late] - points[early]) / static_cast<double>(late - early));
  }
  double const slope = *select_quantile(slopes.begin(), slopes.end(), 0.5, [](double each) { return each; });
  std::size_t const values_per_point = values.size() / points.size();
  return slope / static_cast<double>(values_per_point);
}

/// 0, 1, 2...
inline std::vector<double> line_of(std::size_t count) {
  std::vector<double> line(count);
  for (std::size_t i = 0; i < count; ++i) line[i] = static_cast<double>(i);
  return line;
}

/// The values with what lies far from the line drawn towards it: to 5 standard deviations, by the median distance.
inline std::vector<double> near_line(std::vector<double> values, double slope) {
  constexpr double bound = 5.0;
  std::vector<double> rest = values;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  auto const spread = median_and_mad(rest);
  double const reach = bound * spread->mad / 0.6745;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    values[i] = std::clamp(rest[i], spread->median - reach, spread->median + reach) + slope * static_cast<double>(i);
  }
  return values;
}

}  // namespace detail

/// The drift is that of Theil and Sen's line, which single values do not move. Whether it is one says the test of a straight line by
/// generalized least squares, averaged over the `noise_models`: slow noise shows trends by chance. n/a with fewer than 4 values. Takes time
/// in proportion to n^2 up to 1000 values, and to n beyond.
/// Sources: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); `noise_fit`.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<trend> find_trend(std::vector<double> const& values) {
  if (values.size() < 4) return std::nullopt;
  double const slope = detail::median_slope(values);
  noise_fit const fit{values.size(), cosine_series{detail::near_line(values, slope)}, cosine_series{detail::line_of(values.size())}};
  return trend{slope * static_cast<double>(values.size() - 1), fit.change_p_value()};
}

}  // namespace profkit
