// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "../../profile/own_memory.hpp"
#include "noise_fit.hpp"
#include "trend.hpp"
#include "verdict_summary.hpp"

namespace profkit {

/// @brief The steady part of a series of step times.
struct steady_part {
  warmup_finding finding = warmup_finding::unknown;  ///< whether the warm-up was long enough
  std::size_t begin = 0;                             ///< position of the beginning of the steady part, or for `never_steady` of the change
  double change = 0.0;          ///< mean after `begin` divided by the mean between warm-up and `begin`, minus 1; 0 for `enough`
  bool is_line_better = false;  ///< a straight line through the measured steps explains them better than a change at `begin`
};

namespace detail {

/// Finds the steady part of a series by the rules of `find_steady_part`.
class steady_part_finder {
 public:
  static constexpr std::size_t min_values = 10;
  static constexpr std::size_t min_rest = 5;
  /// Far below 0.05, because the position was chosen where the change is largest. False alarms: docs/statistics.md.
  static constexpr double max_p_value = 0.0015;
  static constexpr double max_late_p_value = 0.0005;  ///< for a change that is not warm-up
  static constexpr double min_change = 0.02;
  /// Relative to the mean of the measured steps. If a program waits before its first measured step, that single step differs.
  static constexpr double min_effect = 0.005;

  explicit steady_part_finder(detail::own_vector<double> const& series) : series_{series}, values_{bounded(series)} {}

  [[nodiscard]] steady_part find(std::size_t warmup) const {
    std::size_t const count = values_.size();
    if (count < min_values || warmup + min_rest > count) return {};
    std::size_t const half = std::max(count / 2, warmup);
    // The largest change may be late and hide a change in the first half.
    for (std::size_t const last : {count - min_rest, half}) {
      std::size_t const found = best_split(warmup, last);
      if (found == warmup || !matters(warmup, found) || !differs(warmup, found, found <= half ? max_p_value : max_late_p_value)) continue;
      steady_part result{warmup_finding::never_steady, found, 0.0, is_line_better(warmup, found)};
      if (found <= half) result = {warmup_finding::too_short, last_change(found, half), 0.0, result.is_line_better};
      result.change = mean(series_, result.begin, count) / mean(series_, warmup, result.begin) - 1.0;
      return result;
    }
    return {warmup_finding::enough, last_change(0, warmup), 0.0, false};
  }

 private:
  /// Clips values far from the median of the second half, so that single values do not decide.
  static detail::own_vector<double> bounded(detail::own_vector<double> values) {
    constexpr double bound = 12.0;          // in standard deviations, estimated by the MAD
    constexpr double min_deviation = 0.01;  // relative to the median, for a second half without variation
    auto const spread = median_and_mad({values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()});
    if (!spread) return values;
    double const reach = bound * std::max(1.4826 * spread->mad, min_deviation * std::abs(spread->median));
    for (double& value : values) value = std::clamp(value, spread->median - reach, spread->median + reach);
    return values;
  }

  static double mean(detail::own_vector<double> const& values, std::size_t begin, std::size_t end) {
    auto const first = values.begin();
    return std::accumulate(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end), 0.0) /
           static_cast<double>(end - begin);
  }

  /// The best split of the values from `begin` on into two parts with different means, at most at `last`; `begin` if there is none. Source:
  /// D. M. Hawkins, "Testing a sequence of observations for a shift in location", JASA 72 (1977).
  [[nodiscard]] std::size_t best_split(std::size_t begin, std::size_t last) const {
    double const middle = mean(values_, begin, values_.size());
    auto const all = static_cast<double>(values_.size() - begin);
    double sum = 0.0;
    double largest = 0.0;
    std::size_t best = begin;
    for (std::size_t split = begin + 1; split <= std::min(last, values_.size() - min_rest); ++split) {
      sum += values_[split - 1] - middle;
      auto const early = static_cast<double>(split - begin);
      double const explained = sum * sum / (early * (all - early));
      if (explained > largest) {
        largest = explained;
        best = split;
      }
    }
    return best;
  }

  /// The position after the changes from `begin` to `last`, because a warm-up can have several parts.
  [[nodiscard]] std::size_t last_change(std::size_t begin, std::size_t last) const {
    while (true) {
      std::size_t const next = best_split(begin, last);
      if (next == begin || !differs(begin, next, max_p_value)) return begin;
      begin = next;
    }
  }

  /// Whether omitting the values before `end` changes the mean from `begin` on.
  [[nodiscard]] bool matters(std::size_t begin, std::size_t end) const {
    double const all = mean(series_, begin, series_.size());
    return std::abs(mean(series_, end, series_.size()) - all) > min_effect * std::abs(all);
  }

  /// Whether the mean of the values from `begin` to `end` differs from the mean of the following values, beyond noise and by a relevant
  /// amount.
  /// @param significance maximum p-value.
  [[nodiscard]] bool differs(std::size_t begin, std::size_t end, double significance) const {
    double const early = mean(values_, begin, end);
    double const rest = mean(values_, end, values_.size());
    if (std::abs(early - rest) <= min_change * std::abs(rest)) return false;
    std::size_t const count = values_.size();
    bool const is_early_shorter = end - begin <= count - end;
    if (!(is_early_shorter ? majority_is_near(begin, end, early, rest) : majority_is_near(end, count, rest, early))) return false;
    // Warm-up steps also vary more, so the noise is that of the longer part.
    detail::own_vector<double> const longer = is_early_shorter ? part(end, count) : part(begin, end);
    noise_fit const noise{longer.size(), cosine_series{longer}};
    return noise.difference_p_value(early - rest, end - begin, count - end) < significance;
  }

  /// Whether most values are closer to `own` than to `other`, so that no single value determines the mean.
  [[nodiscard]] bool majority_is_near(std::size_t begin, std::size_t end, double own, double other) const {
    auto const is_near = [&](double value) { return std::abs(value - own) < std::abs(value - other); };
    auto const near = std::count_if(position(begin), position(end), is_near);
    return 2 * static_cast<std::size_t>(near) > end - begin;
  }

  /// Whether a straight line explains the values from `begin` on better than a mean before and a mean after `end`.
  [[nodiscard]] bool is_line_better(std::size_t begin, std::size_t end) const {
    auto const count = static_cast<double>(values_.size() - begin);
    double const all = mean(values_, begin, values_.size());
    double const split = mean(values_, begin, end) - mean(values_, end, values_.size());
    double const by_split = split * split * static_cast<double>(end - begin) * static_cast<double>(values_.size() - end) / count;
    double product = 0.0;
    for (std::size_t i = begin; i < values_.size(); ++i) {
      product += (values_[i] - all) * (static_cast<double>(i - begin) - 0.5 * (count - 1.0));
    }
    double const by_line = product * product * 12.0 / (count * (count * count - 1.0));
    return by_line > by_split;
  }

  [[nodiscard]] detail::own_vector<double> part(std::size_t begin, std::size_t end) const { return {position(begin), position(end)}; }

  [[nodiscard]] detail::own_vector<double>::const_iterator position(std::size_t index) const {
    return values_.begin() + static_cast<std::ptrdiff_t>(index);
  }

  detail::own_vector<double> const& series_;
  detail::own_vector<double> values_;  ///< clipped
};

}  // namespace detail

/// @brief Finds the position from which on steps are of one kind: the split into two parts that explains most of the variance.
///
/// The parts must differ beyond noise (`noise_fit`, p < 0.0015, or 0.0005 for a split in the second half) and by more than 2 %. Most steps
/// of the shorter part must differ. The mean of the measured steps must change by more than 0.5 % without the first part. In the first half
/// of the series the first part is warm-up, and the rest is split again; later it is a change. The finding is `unknown` with fewer than 10
/// values, or 5 after the warm-up.
/// @param series step times in order, including warm-up.
/// @param warmup number of warm-up steps among them.
[[nodiscard]] inline steady_part find_steady_part(::profkit::detail::own_vector<double> const& series, std::size_t warmup) {
  return detail::steady_part_finder{series}.find(warmup);
}

}  // namespace profkit
