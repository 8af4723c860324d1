// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "../../../statistics.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/numbers.hpp"
#include "../../profile/own_memory.hpp"
#include "../windows/state.hpp"
#include "quantiles.hpp"

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

  auto members() { return listed(summed(sum_), summed(squares_)); }

 private:
  std::int64_t sum_ = 0;
  wide_integer squares_ = 0;
};

inline milliseconds to_ms(std::chrono::nanoseconds duration) { return std::chrono::duration_cast<milliseconds>(duration); }

inline std::optional<milliseconds> to_ms(std::optional<double> ms) {
  if (!ms) return std::nullopt;
  return milliseconds{*ms};
}

inline std::optional<milliseconds> quantile_of(quantile_sketch const& durations, double q) {
  std::optional<double> const ns = durations.quantile(q);
  if (!ns) return std::nullopt;
  return std::chrono::duration<double, std::nano>{*ns};
}

inline duration_summary summarize(running_statistics const& ms) {
  duration_summary result;
  result.count = ms.count();
  result.total = milliseconds{ms.total()};
  result.mean = to_ms(ms.mean());
  result.standard_deviation = to_ms(ms.standard_deviation());
  result.min = to_ms(ms.min());
  result.max = to_ms(ms.max());
  return result;
}

/// Statistics with exact quantiles of stored samples, such as steps.
inline duration_summary summarize(own_vector<milliseconds> const& samples) {
  running_statistics statistics;
  own_vector<double> sorted;
  sorted.reserve(samples.size());
  for (milliseconds const sample : samples) {
    statistics.add(sample.count());
    sorted.push_back(sample.count());
  }
  std::sort(sorted.begin(), sorted.end());
  duration_summary result = summarize(statistics);
  result.median = to_ms(quantile(sorted, 0.5));
  result.p95 = to_ms(quantile(sorted, 0.95));
  result.p99 = to_ms(quantile(sorted, 0.99));
  return result;
}

/// Statistics of durations in bounded memory. All sums are integers, so the order of adding does not matter.
class duration_statistics {
 public:
  void add(std::chrono::nanoseconds duration) {
    sums_.add(duration.count());
    quantiles_.add(duration);
  }

  /// Merges another object: the result is as if its durations had been added here.
  void add(duration_statistics const& other) {
    sums_.add(other.sums_);
    quantiles_.add(other.quantiles_);
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return quantiles_.count(); }

  [[nodiscard]] duration_summary summarize() const {
    duration_summary result;
    result.count = count();
    result.total = to_ms(std::chrono::nanoseconds{sums_.sum()});
    if (result.count == 0) return result;
    result.mean = result.total / static_cast<double>(result.count);
    if (auto const deviation = sums_.standard_deviation(result.count)) {
      result.standard_deviation = std::chrono::duration<double, std::nano>{*deviation};
    }
    result.min = to_ms(*quantiles_.min());
    result.max = to_ms(*quantiles_.max());
    result.median = quantile_of(quantiles_, 0.5);
    result.p95 = quantile_of(quantiles_, 0.95);
    result.p99 = quantile_of(quantiles_, 0.99);
    return result;
  }

  auto members() { return listed(sums_, quantiles_); }

 private:
  exact_sums sums_;
  quantile_sketch quantiles_;
};

}  // namespace profkit::detail
