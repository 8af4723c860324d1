// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../time/quantiles.hpp"

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

}  // namespace profkit
