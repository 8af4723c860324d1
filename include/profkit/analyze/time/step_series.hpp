// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "durations.hpp"

namespace profkit::detail {

/// What something took in each step, as mean, spread and resemblance of neighbours; takes no memory for the steps. A step that is not added
/// counts as 0.
class step_series {
 public:
  /// @param step later than that of the value before.
  void add(std::size_t step, milliseconds value) {
    if (count_ == 0) shift_ = value.count();
    add_zeros(step);
    append(value.count() - shift_);
  }

  /// Nothing may be added after that.
  /// @param steps how many there were, at least one.
  [[nodiscard]] per_step_figures summarize(std::size_t steps) {
    add_zeros(steps);
    auto const n = static_cast<double>(count_);
    double const mean = sum_ / n;
    per_step_figures result;
    result.mean = milliseconds{shift_ + mean};
    if (count_ < 2) return result;
    double const squares = std::max(0.0, squares_ - n * mean * mean);
    result.standard_deviation = milliseconds{std::sqrt(squares / (n - 1.0))};
    if (squares > 0.0) {
      double const products = products_ - mean * (2.0 * sum_ - first_ - last_) + (n - 1.0) * mean * mean;
      result.autocorrelation = std::clamp(products / squares, -1.0, 1.0);
    }
    return result;
  }

 private:
  void append(double value) {
    if (count_ == 0) {
      first_ = value;
    } else {
      products_ += last_ * value;
    }
    sum_ += value;
    squares_ += value * value;
    last_ = value;
    ++count_;
  }

  void add_zeros(std::size_t until) {
    if (count_ >= until) return;
    double const zero = -shift_;
    append(zero);
    auto const others = static_cast<double>(until - count_);
    sum_ += others * zero;
    squares_ += others * zero * zero;
    products_ += others * zero * zero;
    count_ = until;
  }

  // All sums are of values less the first one: the spread is small against the mean.
  double shift_ = 0.0;
  double first_ = 0.0;
  double last_ = 0.0;
  double sum_ = 0.0;
  double squares_ = 0.0;
  double products_ = 0.0;  ///< of neighbours
  std::size_t count_ = 0;
};

}  // namespace profkit::detail
