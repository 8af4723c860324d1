// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "autocorrelation.hpp"
#include "statistics.hpp"
#include "student.hpp"

namespace profkit {

/// Where the mean lies that more steps of the same kind would have.
struct mean_interval {
  double mean = 0.0;
  double half_width = 0.0;  ///< of the 95 % interval around `mean`
  double effective = 0.0;   ///< independent values that would tell as much: `effective_samples`

  /// `half_width` over the mean; n/a where the mean is not above 0.
  [[nodiscard]] std::optional<double> relative() const noexcept {
    if (mean <= 0.0) return std::nullopt;
    return half_width / mean;
  }
};

/// The 95 % confidence interval of the mean of a series: t s / sqrt(m), where m is the effective number of values and t is Student's, with
/// m - 1 degrees of freedom. n/a with fewer than two values. docs/statistics.md says how often it holds the true mean.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<mean_interval> interval_of_mean(std::vector<double> const& values) {
  if (values.size() < 2) return std::nullopt;
  constexpr double share = 0.95;
  running_statistics statistics;
  for (double const value : values) statistics.add(value);
  double const effective = effective_samples(values.size(), lag1_autocorrelation(values));
  double const t = student_quantile(share, effective - 1.0);
  return mean_interval{*statistics.mean(), t * *statistics.standard_deviation() / std::sqrt(effective), effective};
}

}  // namespace profkit
