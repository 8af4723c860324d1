// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../../statistics.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/quantiles.hpp"
#include "noise_fit.hpp"

namespace PROFKIT_NAMESPACE {

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

/// @brief The interval of the mean of further steps of the same kind.
struct mean_interval {
  double mean = 0.0;                 ///< in the unit of the values
  double half_width = 0.0;           ///< half-width of the 95 % interval around `mean`
  double cautious_half_width = 0.0;  ///< the same with a higher weight of slow changes: see `noise_models`
  double effective = 0.0;            ///< number of independent values with an interval of the same width, at most all values

  /// @brief `half_width` relative to the mean; n/a unless the mean is above 0.
  [[nodiscard]] std::optional<double> relative() const noexcept {
    if (mean <= 0.0) return std::nullopt;
    return half_width / mean;
  }
};

namespace detail {

/// The number of independent values with this standard deviation and an interval of this half-width, at most `count`.
inline double as_many_independent(double half_width, double deviation, double count) {
  constexpr double share = 0.95;
  double low = std::min(count, 1.5);
  double high = count;
  while (high - low > 1e-3 * high) {
    double const middle = 0.5 * (low + high);
    (student_quantile(share, middle - 1.0) * deviation / std::sqrt(middle) > half_width ? low : high) = middle;
  }
  return high;
}

/// The shift of the interval of a mean by rare long values: the third moment over 6 times the variance times n. Source: N. J. Johnson,
/// "Modified t tests and confidence intervals for asymmetrical populations", JASA 73 (1978).
inline double skewness_shift(detail::own_vector<double> const& values, double mean, double deviation) {
  double cubes = 0.0;
  for (double const value : values) {
    double const score = (value - mean) / deviation;
    cubes += score * score * score;
  }
  auto const n = static_cast<double>(values.size());
  return std::abs(cubes / n) * deviation / (6.0 * n);
}

}  // namespace detail

/// @brief The 95 % interval of the mean of a series, averaged over the `noise_models` with their posterior probabilities. With independent
/// noise it is Student's interval. It is widened by the shift that skewness causes. n/a with fewer than two values. Coverage:
/// docs/statistics.md.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<mean_interval> interval_of_mean(::profkit::detail::own_vector<double> const& values) {
  if (values.size() < 2) return std::nullopt;
  running_statistics statistics;
  for (double const value : values) statistics.add(value);
  mean_interval result;
  result.mean = *statistics.mean();
  double const deviation = *statistics.standard_deviation();
  if (deviation <= 1e-12 * std::abs(result.mean)) {
    result.effective = static_cast<double>(values.size());
    return result;
  }
  noise_fit const fit{values.size(), cosine_series{values}};
  double const shift = detail::skewness_shift(values, result.mean, deviation);
  result.half_width = fit.mean_half_width(false) + shift;
  result.cautious_half_width = fit.mean_half_width(true) + shift;
  result.effective = detail::as_many_independent(result.half_width, deviation, static_cast<double>(values.size()));
  return result;
}

}  // namespace PROFKIT_NAMESPACE
