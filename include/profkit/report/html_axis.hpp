// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "../profile/finite.hpp"
#include "../profile/own_memory.hpp"
#include "column_numbers.hpp"

namespace profkit::detail {

/// An axis of a picture. Maps values to shares of its length and chooses round ticks.
class html_axis {
 public:
  /// @param wanted approximate number of intervals between ticks.
  html_axis(double low, double high, int wanted = 4) : low_{bounded(low, 0.0)}, high_{bounded(high, 1.0)} {
    if (!(high_ - low_ > std::max(1e-9 * std::max(std::abs(low_), std::abs(high_)), 1e-9))) {  // all values are equal
      double const margin = std::max(std::abs(low_) * 0.01, 1e-6);
      low_ -= margin;
      high_ = low_ + 2.0 * margin;
    }
    double const raw = (high_ - low_) / wanted;
    double const power = std::pow(10.0, std::floor(std::log10(raw)));
    double const leading = raw / power;
    step_ = power * (leading <= 1.0 ? 1.0 : leading <= 2.0 ? 2.0 : leading <= 5.0 ? 5.0 : 10.0);
    decimals_ = std::clamp(static_cast<int>(-std::floor(std::log10(step_) + 1e-9)), 0, 6);
  }

  [[nodiscard]] double low() const noexcept { return low_; }
  [[nodiscard]] double high() const noexcept { return high_; }

  /// 0 at the low end, 1 at the high end; values outside the axis are below 0 or above 1.
  [[nodiscard]] double share(double value) const { return (bounded(value, low_) - low_) / (high_ - low_); }
  [[nodiscard]] bool contains(double value) const { return value >= low_ && value <= high_; }

  /// A few round values on the axis.
  [[nodiscard]] own_vector<double> ticks() const {
    own_vector<double> result;
    constexpr int most = 20;
    double const first = std::ceil(low_ / step_ - 1e-9);
    for (int i = 0; i < most; ++i) {
      double const tick = (first + i) * step_;
      if (tick > high_ + step_ * 1e-6) break;
      result.push_back(std::abs(tick) < step_ * 1e-6 ? 0.0 : tick);
    }
    return result;
  }

  /// The text of a tick.
  [[nodiscard]] std::string label(double tick) const { return with_thousands(fmt::format("{:.{}f}", tick, decimals_)); }

  /// The text of the low end, with one digit more than the ticks, because it lies between ticks.
  [[nodiscard]] std::string beginning() const { return with_thousands(fmt::format("{:.{}f}", low_, decimals_ + 1)); }

 private:
  /// Clips to a range larger than any time or size, so that differences are finite.
  static double bounded(double value, double otherwise) { return is_finite(value) ? std::clamp(value, -1e24, 1e24) : otherwise; }

  double low_;
  double high_;
  double step_ = 1.0;
  int decimals_ = 0;
};

/// A logarithmic axis that begins and ends at a power of ten.
class html_log_axis {
 public:
  html_log_axis(double low, double high)
      : low_{std::floor(std::log10(std::clamp(low, smallest, largest)) + 1e-9)},
        high_{std::ceil(std::log10(std::clamp(high, smallest, largest)) - 1e-9)} {
    if (high_ < low_ + 1.0) high_ = low_ + 1.0;
  }

  [[nodiscard]] int first_power() const noexcept { return static_cast<int>(low_); }
  [[nodiscard]] int last_power() const noexcept { return static_cast<int>(high_); }
  [[nodiscard]] double low() const { return std::pow(10.0, low_); }
  [[nodiscard]] double high() const { return std::pow(10.0, high_); }

  [[nodiscard]] double share(double value) const {
    return is_finite(value) ? std::clamp((std::log10(std::max(value, smallest)) - low_) / (high_ - low_), 0.0, 1.0) : 0.0;
  }

 private:
  static constexpr double smallest = 1e-9;
  static constexpr double largest = 1e24;

  double low_;
  double high_;
};

}  // namespace profkit::detail
