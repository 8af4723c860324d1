// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "../../../statistics.hpp"
#include "../../profile/own_memory.hpp"
#include "noise_fit.hpp"

namespace profkit {

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

}  // namespace profkit
