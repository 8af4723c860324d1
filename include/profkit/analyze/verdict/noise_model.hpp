// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "../../profile/own_memory.hpp"

namespace profkit {

/// @brief A model of the noise of step times: independent noise plus a first-order autoregressive process. It covers independent steps
/// (`share` 0), correlated steps (`share` 1), and independent steps on top of a slow change.
struct noise_model {
  double share = 0.0;           ///< share of the variance in the autoregressive process, 0 to 1
  double decay = 0.0;           ///< lag-1 autocorrelation of that process, 0 to below 1
  double prior = 1.0;           ///< prior weight relative to that of independent steps, which is 1
  double cautious_prior = 1.0;  ///< the same if slow changes are expected: see `noise_models`

  /// @brief The spectral density relative to independent noise of the same variance. Source: G. E. P. Box, G. M. Jenkins and G. C.
  /// Reinsel, "Time series analysis", 4th ed. (2008), 3.2.3.
  /// @param cosine of the angular frequency.
  [[nodiscard]] double density(double cosine) const noexcept {
    return 1.0 - share + share * (1.0 - decay * decay) / (1.0 - 2.0 * decay * cosine + decay * decay);
  }

  /// @brief The variance of the mean of `count` consecutive values of variance 1. Source: the sum of (1 - k / n) decay^k over the lags, in
  /// closed form.
  [[nodiscard]] double variance_of_mean(std::size_t count) const noexcept {
    auto const n = static_cast<double>(count);
    double const rest = 1.0 - decay;
    double const correlated = (1.0 + decay) / rest - 2.0 * decay * (1.0 - std::pow(decay, n)) / (n * rest * rest);
    return (1.0 - share + share * correlated) / n;
  }

  /// @brief The variance of the difference between the mean of `early` values of variance 1 and the mean of the `late` values that follow.
  [[nodiscard]] double variance_of_difference(std::size_t early, std::size_t late) const noexcept {
    auto const sum_variance = [this](std::size_t count) {
      auto const n = static_cast<double>(count);
      return n * n * variance_of_mean(count);
    };
    double const products = static_cast<double>(early) * static_cast<double>(late);
    double const covariance = (sum_variance(early + late) - sum_variance(early) - sum_variance(late)) / (2.0 * products);
    return variance_of_mean(early) + variance_of_mean(late) - 2.0 * covariance;
  }
};

/// @brief The noise models for `count` values, with their prior weights.
///
/// * Independent noise has the weight 1.
/// * Correlated noise has the total weight 0.2: correlation times from 1.5 values to half of the series, 20 to 100 % of the variance.
/// * Slow noise has the weight 0.8: 20 or 40 % of the variance with a correlation time of 50 values. Fewer than 100 values do not show it,
///   and an interval that allows for it is twice as wide. So its weight falls with the third power of the length below 100 values, and the
///   cautious one falls to 0.4 of itself at most.
///
/// The weights were chosen so that the interval of the mean has the coverage in docs/statistics.md. Fewer than 8 values count as
/// independent.
[[nodiscard]] inline detail::own_vector<noise_model> noise_models(std::size_t count) {
  detail::own_vector<noise_model> models{{}};
  if (count < 8) return models;
  constexpr double memory_prior = 0.2;
  constexpr double slow_prior = 0.8;
  constexpr double slow_time = 50.0;
  double const half = 0.5 * static_cast<double>(count);
  detail::own_vector<double> times;
  times.push_back(1.5);
  while (2.0 * times.back() <= std::max(3.0, half)) times.push_back(2.0 * times.back());
  for (double const time : times) {
    double const prior = memory_prior / (4.0 * static_cast<double>(times.size()));
    for (double const share : {0.2, 0.5, 0.8, 1.0}) models.push_back({share, 1.0 - 1.0 / time, prior, prior});
  }
  double const visible = std::min(1.0, std::pow(half / slow_time, 3.0));
  for (double const share : {0.2, 0.4}) {
    models.push_back({share, 1.0 - 1.0 / slow_time, 0.5 * slow_prior * visible, 0.5 * slow_prior * std::max(0.4, visible)});
  }
  return models;
}

}  // namespace profkit
