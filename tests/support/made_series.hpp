// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

/// Normally distributed numbers, equal on every platform, unlike `std::normal_distribution`.
class normal_numbers {
 public:
  explicit normal_numbers(std::uint64_t seed) : bits_{seed} {}

  [[nodiscard]] double next() {
    constexpr double pi = 3.14159265358979323846;
    double const radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * pi * uniform());
  }

  /// Above 0, up to 1.
  [[nodiscard]] double uniform() { return (static_cast<double>(bits_() >> 11U) + 1.0) / 9007199254740992.0; }

 private:
  std::mt19937_64 bits_;
};

/// Step times around 100 with a standard deviation of `deviation`: an autoregressive process of first order.
/// @param autocorrelation 0: independent.
inline std::vector<double> made_series(normal_numbers& numbers, std::size_t count, double deviation, double autocorrelation = 0.0) {
  std::vector<double> result;
  double state = numbers.next();
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(100.0 + deviation * state);
    state = autocorrelation * state + std::sqrt(1.0 - autocorrelation * autocorrelation) * numbers.next();
  }
  return result;
}
