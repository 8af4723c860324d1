// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "../../profile/wide_integer.hpp"

namespace profkit::detail {

/// Exact sums of integers and of their squares, so adding is associative and independent of the order.
class exact_sums {
 public:
  void add(std::int64_t value) noexcept {
    sum_ += value;
    squares_ += wide_integer{value} * value;
  }

  /// Merges another object: the result is as if its values had been added here.
  void add(exact_sums const& other) noexcept {
    sum_ += other.sum_;
    squares_ += other.squares_;
  }

  [[nodiscard]] std::int64_t sum() const noexcept { return sum_; }

  /// @return the sum of squared deviations from the mean.
  /// @param count number of values, at least 1. Values of 0 need not have been added.
  [[nodiscard]] double squares_around_mean(std::uint64_t count) const noexcept {
    // Exact integers around the integer part of the mean; then a correction for its fraction.
    auto const n = static_cast<std::int64_t>(count);
    std::int64_t const whole = sum_ / n;
    auto const rest = static_cast<double>(sum_ % n);
    wide_integer const around_whole = squares_ - wide_integer{whole} * (2 * wide_integer{sum_} - wide_integer{whole} * n);
    return static_cast<double>(around_whole) - rest * rest / static_cast<double>(n);
  }

  /// Sample standard deviation (n - 1); n/a with fewer than two values.
  [[nodiscard]] std::optional<double> standard_deviation(std::uint64_t count) const noexcept {
    if (count < 2) return std::nullopt;
    double const squares = squares_around_mean(count);
    return std::sqrt((squares > 0.0 ? squares : 0.0) / static_cast<double>(count - 1));
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, exact_sums& state) {
    archive.amount(state.sum_), archive.amount(state.squares_);
  }

  std::int64_t sum_ = 0;
  wide_integer squares_ = 0;
};

}  // namespace profkit::detail
