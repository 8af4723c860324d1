// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../time/select_quantile.hpp"
#include "noise_fit.hpp"

namespace profkit {

/// @brief Robust middle and spread of values.
struct median_spread {
  double median = 0.0;  ///< in the unit of the values
  double mad = 0.0;     ///< median absolute deviation, not multiplied by 1.4826
};

/// @brief The median and the MAD; n/a without values.
[[nodiscard]] inline std::optional<median_spread> median_and_mad(detail::own_vector<double> values) {
  auto const itself = [](double value) { return value; };
  auto const median = select_quantile(values.begin(), values.end(), 0.5, itself);
  if (!median) return std::nullopt;
  for (double& value : values) value = std::abs(value - *median);
  return median_spread{*median, *select_quantile(values.begin(), values.end(), 0.5, itself)};
}

/// @brief The standard deviation of normal values with this spread: 1.4826 MAD. If more than half of the values are equal, so that the MAD
/// is 0, it is 1.2533 times the mean absolute deviation. Source: Iglewicz and Hoaglin (see `count_outliers`).
[[nodiscard]] inline double robust_deviation(detail::own_vector<double> const& values, median_spread const& spread) noexcept {
  if (spread.mad > 0.0) return spread.mad / 0.6745;
  double const total =
      std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) { return sum + std::abs(value - spread.median); });
  return 1.2533 * total / static_cast<double>(values.size());
}

/// @brief Whether a value is an outlier: its modified z-score 0.6745 |x - median| / MAD is above 3.5, and it is more than 1 % from the
/// median. The second condition excludes harmless deviations of very steady steps. Source: B. Iglewicz and D. C. Hoaglin, "How to detect
/// and handle outliers", ASQC Quality Press (1993).
/// @param deviation the `robust_deviation` of all values.
[[nodiscard]] inline bool is_outlier(double value, median_spread const& spread, double deviation) noexcept {
  constexpr double max_score = 3.5;
  constexpr double min_distance = 0.01;
  double const distance = std::abs(value - spread.median);
  return distance > max_score * deviation && distance > min_distance * std::abs(spread.median);
}

/// @brief The number of outliers (`is_outlier`).
[[nodiscard]] inline std::uint64_t count_outliers(detail::own_vector<double> const& values) {
  auto const spread = median_and_mad(values);
  if (!spread) return 0;
  double const deviation = robust_deviation(values, *spread);
  std::uint64_t result = 0;
  for (double const value : values) {
    if (is_outlier(value, *spread, deviation)) ++result;
  }
  return result;
}

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
