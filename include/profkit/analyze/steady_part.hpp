// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "autocorrelation.hpp"
#include "outliers.hpp"
#include "warmup_finding.hpp"

namespace profkit {

/// The steady part of a series of step times.
struct steady_part {
  warmup_finding finding = warmup_finding::unknown;
  std::size_t begin = 0;  ///< where the steady part begins, or for `never_steady` where the last change lies; a position in the series
  double change = 0.0;    ///< mean from there on over the mean from the given warm-up up to there, less 1; 0 for `enough`
};

namespace detail {

/// The steady part of a series. `find_steady_part` says by which rules.
class steady_part_finder {
 public:
  static constexpr std::size_t least_values = 10;
  /// MSER's statistic means little for the last few. Source: K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five steady-state
  /// truncation heuristics for simulation", Winter Simulation Conference (2000).
  static constexpr std::size_t least_rest = 5;
  /// In standard errors. Far above the usual 2, since the two parts were chosen to differ: measured false alarms are in docs/statistics.md.
  static constexpr double least_score = 3.5;
  static constexpr double least_change = 0.02;
  /// Of the mean over all that follows the given warm-up: where a program waits before its first measured step, that one step differs.
  static constexpr double least_effect = 0.005;

  explicit steady_part_finder(std::vector<double> const& series) : series_{series}, values_{winsorised(series)} {}

  [[nodiscard]] steady_part find(std::size_t warmup) const {
    std::size_t const count = values_.size();
    if (count < least_values || warmup + least_rest > count) return {};
    std::size_t const half = count / 2;
    // The best truncation of all may lie late by chance, and hide that of the first half.
    for (std::size_t const last : {count - least_rest, std::max(half, warmup)}) {
      std::size_t const begin = truncation(last);
      if (begin <= warmup || !matters(warmup, begin) || !differs(warmup, begin)) continue;
      bool const is_late = begin > std::max(half, warmup);
      std::size_t const where = is_late ? last_change(std::max(half, warmup), warmup) : begin;
      return {is_late ? warmup_finding::never_steady : warmup_finding::too_short, where,
              mean(series_, where, count) / mean(series_, warmup, where) - 1.0};
    }
    std::size_t const begin = truncation(warmup);
    return {warmup_finding::enough, differs(0, begin) ? begin : 0, 0.0};
  }

 private:
  /// Values far from the median of the second half are drawn to a bound, so that single ones do not decide.
  static std::vector<double> winsorised(std::vector<double> values) {
    constexpr double bound = 5.0;             // in standard deviations of a normal distribution
    constexpr double least_deviation = 0.01;  // of the median, so that a change shows where the second half does not vary at all
    auto const spread = median_and_mad({values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()});
    if (!spread) return values;
    double const deviation = std::max(1.4826 * spread->mad, least_deviation * std::abs(spread->median));
    for (double& value : values) value = std::clamp(value, spread->median - bound * deviation, spread->median + bound * deviation);
    return values;
  }

  static double mean(std::vector<double> const& of, std::size_t begin, std::size_t end) {
    auto const first = of.begin();
    return std::accumulate(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end), 0.0) /
           static_cast<double>(end - begin);
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const { return mean(values_, begin, end); }

  [[nodiscard]] double squares(std::size_t begin, std::size_t end) const {
    double const middle = mean(begin, end);
    return std::accumulate(position(begin), position(end), 0.0,
                           [&](double sum, double value) { return sum + (value - middle) * (value - middle); });
  }

  /// MSER: the truncation of at most `last` values that makes the interval around the mean of the rest the shortest.
  [[nodiscard]] std::size_t truncation(std::size_t last) const {
    double shortest = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    double center = 0.0;
    double total = 0.0;
    std::size_t const count = values_.size();
    for (std::size_t begin = count; begin-- > 0;) {  // from the end, so that each value is added once
      auto const n = static_cast<double>(count - begin);
      double const delta = values_[begin] - center;
      center += delta / n;
      total += delta * (values_[begin] - center);
      if (begin <= last && total / (n * n) <= shortest) {
        shortest = total / (n * n);
        best = begin;
      }
    }
    return best;
  }

  /// Where, after `half`, the values from `begin` on fall best into two parts with a mean each: MSER itself also cuts what is merely noisy.
  [[nodiscard]] std::size_t last_change(std::size_t half, std::size_t begin) const {
    std::size_t best = half + 1;
    for (std::size_t split = best; split + least_rest <= values_.size(); ++split) {
      auto const rest = [&](std::size_t at) { return squares(begin, at) + squares(at, values_.size()); };
      if (rest(split) < rest(best)) best = split;
    }
    return best;
  }

  /// Whether the mean from `begin` on becomes another one without what lies before `end`.
  [[nodiscard]] bool matters(std::size_t begin, std::size_t end) const {
    double const all = mean(series_, begin, series_.size());
    return std::abs(mean(series_, end, series_.size()) - all) > least_effect * std::abs(all);
  }

  /// Whether what lies from `begin` to `end` has another mean than what follows, beyond noise and by an amount that matters.
  [[nodiscard]] bool differs(std::size_t begin, std::size_t end) const {
    std::size_t const count = values_.size();
    if (begin >= end) return false;
    double const rest = mean(end, count);
    double const difference = std::abs(mean(begin, end) - rest);
    if (difference <= least_change * std::abs(rest)) return false;
    double const variance = (squares(begin, end) + squares(end, count)) / static_cast<double>(std::max<std::size_t>(count - begin, 3) - 2);
    double const n = static_cast<double>(count - end);
    double const inflation = n / effective_samples(count - end, lag1_autocorrelation({position(end), position(count)}));
    double const cut = std::max(1.0, static_cast<double>(end - begin) / inflation);
    return difference > least_score * std::sqrt(variance * (1.0 / cut + inflation / n));
  }

  [[nodiscard]] std::vector<double>::const_iterator position(std::size_t of) const {
    return values_.begin() + static_cast<std::ptrdiff_t>(of);
  }

  std::vector<double> const& series_;
  std::vector<double> values_;  ///< drawn to bounds
};

}  // namespace detail

/// From where on the steps are of one kind. By MSER: cut off at the beginning what makes (sum of squares) / n^2 of the rest the smallest. A
/// cut beyond the given warm-up counts only in the first half of the series, and only if what it takes away beyond the warm-up differs from
/// the rest, by more than 3.5 standard errors and more than 2 %, and moves the mean of what is measured by more than 0.5 %. n/a, that is
/// `unknown`, with fewer than 10 values or 5 after the warm-up. Source: K. P. White, "An effective truncation heuristic for bias reduction
/// in simulation output", Simulation 69 (1997).
/// @param series in the order in which they were measured, warm-up included.
/// @param warmup how many of them are warm-up.
[[nodiscard]] inline steady_part find_steady_part(std::vector<double> const& series, std::size_t warmup) {
  return detail::steady_part_finder{series}.find(warmup);
}

}  // namespace profkit
