// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace profkit {

/// The means of neighbouring values, at most `most` of them; the values themselves if they are no more than that. A last block that is
/// not full is left out.
[[nodiscard]] inline std::vector<double> at_most_points(std::vector<double> const& values, std::size_t most) {
  std::size_t const block = (values.size() + most - 1) / most;
  if (block <= 1) return values;
  std::vector<double> result;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    result.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(block), 0.0) / static_cast<double>(block));
  }
  return result;
}

/// A series as a sum of cosines, slowest first: half a period over the series, one period, one and a half, and so on (the discrete cosine
/// transform of type II). For stationary noise the coefficients are nearly independent, and the variance of each is the spectral density at
/// its frequency; for independent values that is the variance of a value. Of more than 500 values the fast cosines are left out.
/// Source: U. K. Mueller and M. W. Watson, "Testing models of low-frequency variability", Econometrica 76 (2008).
class cosine_series {
 public:
  static constexpr std::size_t most_points = 500;

  /// Takes time in proportion to the square of the number of values up to 500, and to their number beyond.
  explicit cosine_series(std::vector<double> const& values) {
    std::vector<double> points = at_most_points(values, most_points);
    std::size_t const count = points.size();
    if (count < 2) return;
    std::size_t const block = values.size() / count;
    mean_ = std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(count);
    for (double& each : points) each -= mean_;
    std::size_t const turn = 4 * count;  // of a cosine, in steps of the angle
    std::vector<double> table(turn);
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

  /// The mean of the values.
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// One for each cosine, from the lowest frequency on.
  [[nodiscard]] std::vector<double> const& coefficients() const noexcept { return coefficients_; }
  /// The cosine of the angular frequency of each coefficient, in radians per value.
  [[nodiscard]] std::vector<double> const& cosines() const noexcept { return cosines_; }

 private:
  double mean_ = 0.0;
  std::vector<double> coefficients_;
  std::vector<double> cosines_;
};

}  // namespace profkit
