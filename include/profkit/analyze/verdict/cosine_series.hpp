// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>

#include "../../profile/own_memory.hpp"

namespace profkit {

/// @brief Means of blocks of neighbouring values, at most `max_points` of them; the values themselves if there are no more. An incomplete
/// last block is omitted.
[[nodiscard]] inline detail::own_vector<double> at_most_points(detail::own_vector<double> const& values, std::size_t max_points) {
  std::size_t const block = (values.size() + max_points - 1) / max_points;
  if (block <= 1) return values;
  detail::own_vector<double> result;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    result.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(block), 0.0) / static_cast<double>(block));
  }
  return result;
}

/// @brief The discrete cosine transform of type II of a series, lowest frequency first: half a period over the series, one period, one and
/// a half, and so on.
///
/// For stationary noise the coefficients are nearly independent, and the variance of each is the spectral density at its frequency; for
/// independent values that is the variance of a value. For more than 500 values the high frequencies are omitted.
/// Source: U. K. Mueller and M. W. Watson, "Testing models of low-frequency variability", Econometrica 76 (2008).
class cosine_series {
 public:
  static constexpr std::size_t max_points = 500;  ///< longer series are averaged over blocks

  /// @brief Transforms a series. Takes quadratic time up to 500 values, and linear time beyond.
  explicit cosine_series(detail::own_vector<double> const& values) {
    detail::own_vector<double> points = at_most_points(values, max_points);
    std::size_t const count = points.size();
    if (count < 2) return;
    std::size_t const block = values.size() / count;
    mean_ = std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(count);
    for (double& each : points) each -= mean_;
    std::size_t const turn = 4 * count;  // one period of a cosine, in steps of the angle
    detail::own_vector<double> table(turn);
    constexpr double pi = 3.14159265358979323846;
    for (std::size_t i = 0; i < turn; ++i) table[i] = std::cos(2.0 * pi * static_cast<double>(i) / static_cast<double>(turn));
    double const norm = std::sqrt(2.0 * static_cast<double>(block) / static_cast<double>(count));
    for (std::size_t order = 1; order < count; ++order) {
      double sum = 0.0;
      std::size_t angle = order;
      for (double const each : points) {
        sum += each * table[angle];
        angle += 2 * order;
        if (angle >= turn) angle -= turn;
      }
      coefficients_.push_back(norm * sum);
      cosines_.push_back(std::cos(pi * static_cast<double>(order) / static_cast<double>(count * block)));
    }
  }

  /// @brief The mean of the values.
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// @brief The coefficients, lowest frequency first.
  [[nodiscard]] detail::own_vector<double> const& coefficients() const noexcept { return coefficients_; }
  /// @brief The cosine of the angular frequency (radians per value) of each coefficient.
  [[nodiscard]] detail::own_vector<double> const& cosines() const noexcept { return cosines_; }

 private:
  double mean_ = 0.0;
  detail::own_vector<double> coefficients_;
  detail::own_vector<double> cosines_;
};

}  // namespace profkit
