// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "autocorrelation.hpp"
#include "select_quantile.hpp"

namespace profkit {

/// Whether a series rises or falls from its beginning to its end.
struct trend {
  double drift = 0.0;    ///< from the first value to the last on the fitted line
  double p_value = 1.0;  ///< how probable so clear an order is in a series without a trend
};

namespace detail {

/// The means of neighbouring values, few enough for the work on all pairs: about the same line, with less noise.
inline std::vector<double> at_most_points(std::vector<double> const& values, std::size_t most) {
  std::size_t const block = (values.size() + most - 1) / most;
  if (block <= 1) return values;
  std::vector<double> result;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    result.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(block), 0.0) / static_cast<double>(block));
  }
  return result;
}

/// The variance of Mann and Kendall's sum for n values in random order, some of them equal.
inline double kendall_variance(std::vector<double> values) {
  auto const term = [](std::size_t count) {
    auto const n = static_cast<double>(count);
    return n * (n - 1.0) * (2.0 * n + 5.0);
  };
  std::sort(values.begin(), values.end());
  double result = term(values.size());
  for (auto tie = values.begin(); tie != values.end();) {
    auto const end = std::upper_bound(tie, values.end(), *tie);
    result -= term(static_cast<std::size_t>(end - tie));
    tie = end;
  }
  return result / 18.0;
}

}  // namespace detail

/// Theil and Sen's line and Mann and Kendall's test, with ties. Neighbouring values that resemble each other show trends by chance: the
/// variance of the test is n / `effective_samples` times that of independent values, by the autocorrelation of what the line leaves.
/// n/a with fewer than 4 values. Longer series than 1000 values are averaged in blocks first.
/// Sources: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); M. G. Kendall, "Rank correlation
/// methods", 4th ed. (1975); S. Yue and C. Wang, "The Mann-Kendall test modified by effective sample size to detect trend in serially
/// correlated hydrological series", Water Resources Management 18 (2004).
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<trend> find_trend(std::vector<double> const& values) {
  constexpr std::size_t most_points = 1000;
  std::vector<double> const points = detail::at_most_points(values, most_points);
  std::size_t const count = points.size();
  if (count < 4) return std::nullopt;
  std::vector<double> slopes;
  slopes.reserve(count * (count - 1) / 2);
  double sum = 0.0;
  for (std::size_t late = 1; late < count; ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      double const rise = points[late] - points[early];
      slopes.push_back(rise / static_cast<double>(late - early));
      sum += rise > 0.0 ? 1.0 : rise < 0.0 ? -1.0 : 0.0;
    }
  }
  double const slope = *select_quantile(slopes.begin(), slopes.end(), 0.5, [](double each) { return each; });
  std::vector<double> rest = points;
  for (std::size_t i = 0; i < count; ++i) rest[i] -= slope * static_cast<double>(i);
  double const inflation = static_cast<double>(count) / effective_samples(count, lag1_autocorrelation(rest));
  double const variance = detail::kendall_variance(points) * inflation;
  trend result{slope * static_cast<double>(count - 1), 1.0};
  if (variance <= 0.0) return result;  // all values are equal
  double const score = std::max(0.0, std::abs(sum) - 1.0) / std::sqrt(variance);
  result.p_value = std::erfc(score / std::sqrt(2.0));
  return result;
}

}  // namespace profkit
