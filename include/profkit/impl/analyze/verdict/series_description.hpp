// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "../../profile/own_memory.hpp"
#include "../step_kind_summary.hpp"
#include "mean_interval.hpp"
#include "noise_fit.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The values far from the usual ones: spikes, the rarer of two kinds, or one of two levels.
struct other_values {
  double usual = 0.0;                  ///< median of the usual values
  double median = 0.0;                 ///< median of the others
  std::size_t count = 0;               ///< number of the others
  std::size_t runs = 0;                ///< number of uninterrupted sequences of them
  std::array<std::size_t, 3> first{};  ///< positions of the first of them
};

/// @brief A position from which on the values differ for good.
struct lasting_change {
  std::size_t at = 0;    ///< position of the first value of the new level
  double before = 0.0;   ///< mean from the previous change, or from the beginning, to here
  double after = 0.0;    ///< mean from here to the end
  double p_value = 1.0;  ///< probability of a change this large at this position by chance
};

/// @brief The linear trend of a series.
struct linear_trend {
  double drift = 0.0;           ///< from the first value to the last on the fitted line
  double p_value = 1.0;         ///< probability of a drift this large by chance
  bool is_significant = false;  ///< beyond chance, and the values follow it throughout
};

/// @brief What a series of step times is like. All sentences about steps follow from it.
struct series_description {
  series_shape shape = series_shape::too_short;  ///< how the values differ
  std::optional<other_values> others{};          ///< of `mixed` and `levels`, and of `periodic` if single values differ
  std::size_t period = 0;                        ///< of `periodic`
  std::size_t warmup = 0;                        ///< number of values at the beginning that are larger than all others, or 0
  bool is_gradual = false;                       ///< these values decrease, so that nobody can say where they end
  std::optional<lasting_change> change{};        ///< after that; n/a if the level is the same at the end
  std::optional<linear_trend> trend{};           ///< of the values after the warm-up; n/a with fewer than 4 values
  std::optional<mean_interval> interval{};       ///< n/a with fewer than 2 values, and if `without_mean`
  bool without_mean = false;                     ///< further values may have another mean: a change, a few levels, or a tail
  double moved = 0.0;                            ///< by how much warm-up and others change the mean, relative

  /// @brief Whether the values have a drift and no change.
  [[nodiscard]] bool has_drift() const noexcept { return trend && trend->is_significant; }
};

namespace detail {

using series_values = own_vector<double>;

inline double mean_between(series_values const& values, std::size_t begin, std::size_t end) {
  auto const first = values.begin();
  return std::accumulate(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end), 0.0) /
         static_cast<double>(end - begin);
}

inline double median_of(series_values values) {
  return *select_quantile(values.begin(), values.end(), 0.5, [](double each) { return each; });
}

inline series_values part_of(series_values const& values, std::size_t begin, std::size_t end) {
  return {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Clips values far from the median, so that single values do not decide.
inline series_values clipped(series_values values, double deviations) {
  constexpr double min_deviation = 0.01;  // relative to the median, for series with hardly any variation
  auto const spread = median_and_mad(values);
  double const reach = deviations * std::max(1.4826 * spread->mad, min_deviation * std::abs(spread->median));
  for (double& value : values) value = std::clamp(value, spread->median - reach, spread->median + reach);
  return values;
}

/// The value that separates two kinds of values; n/a if they are one kind.
///
/// Two kinds with at least 5 values and 5 % each differ by more than 6 standard deviations (Ashman's D). Fewer values differ by more
/// than five times the spread of the others. Sources: N. Otsu, "A threshold selection method from gray-level histograms", IEEE Transactions
/// on Systems, Man, and Cybernetics 9 (1979); K. M. Ashman, C. M. Bird and S. E. Zepf, "Detecting bimodality in astronomical datasets",
/// Astronomical Journal 108 (1994).
inline std::optional<double> threshold_between_kinds(series_values sorted, std::size_t min_usual) {
  constexpr double min_distance = 6.0;
  constexpr double min_difference = 0.02;
  std::sort(sorted.begin(), sorted.end());
  std::size_t const count = sorted.size();
  auto const all = static_cast<double>(count);
  double const middle = mean_between(sorted, 0, count);
  double sum = 0.0;
  double explained = 0.0;
  std::size_t at = 0;
  double quantum = std::numeric_limits<double>::infinity();  // the smallest difference: the clock can be coarse
  std::size_t gaps = 0;
  for (std::size_t i = 1; i < count; ++i) {
    sum += sorted[i - 1] - middle;
    double const gap = sorted[i] - sorted[i - 1];
    if (gap <= 1e-9 * std::abs(middle)) continue;
    quantum = std::min(quantum, gap);
    ++gaps;
    auto const early = static_cast<double>(i);
    if (double const between = sum * sum * all / (early * (all - early)); between > explained) {
      explained = between;
      at = i;
    }
  }
  if (at == 0 || std::max(at, count - at) < min_usual) return std::nullopt;
  series_values const low = part_of(sorted, 0, at);
  series_values const high = part_of(sorted, at, count);
  double const low_median = median_of(low);
  double const high_median = median_of(high);
  double const gap = high.front() - low.back();
  if (high_median - low_median <= min_difference * std::abs(low_median)) return std::nullopt;
  if (auto const rare = static_cast<double>(std::min(at, count - at)); rare >= 5.0 && rare >= 0.05 * all) {
    auto const variance = [&](series_values const& values) {
      double const middle_value = mean_between(values, 0, values.size());
      double squares = quantum * quantum / 12.0;
      for (double const each : values) squares += (each - middle_value) * (each - middle_value) / static_cast<double>(values.size());
      return squares;
    };
    double const spread = std::sqrt(0.5 * (variance(low) + variance(high)));
    if (high_median - low_median <= min_distance * spread) return std::nullopt;
  } else {
    if (gaps == 1) quantum = 0.0;  // two values do not show it
    if (gap <= 5.0 * std::max(at >= count - at ? low.back() - low_median : high_median - high.front(), quantum)) return std::nullopt;
  }
  return 0.5 * (low.back() + high.front());
}

/// Describes a series by the rules in docs/statistics.md.
class series_describer {
 public:
  explicit series_describer(series_values const& series) : series_{series}, rest_{series}, count_{series.size()} {}

  [[nodiscard]] series_description describe() {
    find_parts();
    if (count_ >= 4) find_trend();
    if (count_ >= min_values && !has_levels() && !found_.has_drift()) find_tail();
    find_interval();
    return found_;
  }

  [[nodiscard]] series_description describe_parts() {
    find_parts();
    return found_;
  }

 private:
  static constexpr std::size_t min_values = 10;
  static constexpr std::size_t min_part = 5;

  void find_parts() {
    if (count_ < min_values) return;
    found_.shape = series_shape::even;
    find_kinds();
    if (found_.shape == series_shape::even) find_smooth_period();
    if (has_levels()) return;
    find_warmup();
    find_change();
  }

  [[nodiscard]] bool has_levels() const { return found_.shape == series_shape::levels; }

  /// Two kinds of values, and the order in which they come. Removes the difference between them from `rest_`.
  void find_kinds() {
    constexpr int max_rounds = 2;  // a warm-up and long steps
    for (int round = 0; round < max_rounds; ++round) {
      auto threshold = threshold_between_kinds(rest_, 8);
      if (!threshold) return;
      series_values high;
      for (double const each : rest_) {
        if (each > *threshold) high.push_back(each);
      }
      if (high.size() <= count_ / 2) {  // the largest of several kinds first
        if (auto const higher = threshold_between_kinds(high, 3); higher && is_farther(high, *higher)) threshold = higher;
      }
      own_vector<bool> is_other(count_);
      std::size_t above = 0;
      for (double const each : rest_) above += each > *threshold ? 1U : 0U;
      bool const high_is_other = 2 * above <= count_;
      own_vector<std::size_t> starts;
      other_values others;
      series_values usual_values;
      series_values other_times;
      for (std::size_t i = 0; i < count_; ++i) {
        is_other[i] = (rest_[i] > *threshold) == high_is_other;
        (is_other[i] ? other_times : usual_values).push_back(rest_[i]);
        if (!is_other[i]) continue;
        if (others.count < others.first.size()) others.first[others.count] = i;
        ++others.count;
        if (i == 0 || !is_other[i - 1]) starts.push_back(i);
      }
      others.runs = starts.size();
      others.usual = median_of(usual_values);
      others.median = median_of(other_times);
      if (others.runs == 1 && (is_other.front() || is_other.back())) {
        if (!take_first_part(is_other, others)) return;
      } else if (round == 0 || found_.warmup > 0) {
        found_.others = others;
        found_.period = period_of(is_other, starts);
        found_.shape = found_.period > 0 ? series_shape::periodic : is_in_runs(others) ? series_shape::levels : series_shape::mixed;
        if (has_levels()) return;
      } else {
        return;
      }
      for (std::size_t i = 0; i < count_; ++i) {
        if (is_other[i]) rest_[i] *= others.usual / others.median;
      }
    }
  }

  /// Whether the values above a threshold are much farther from the usual ones than the other high values. Long values that differ a little
  /// are one kind: they were long at different levels.
  [[nodiscard]] bool is_farther(series_values const& high, double threshold) const {
    constexpr double least = 1.5;
    auto const is_far = [&](double each) { return each > threshold; };
    series_values far;
    series_values near;
    std::partition_copy(high.begin(), high.end(), std::back_inserter(far), std::back_inserter(near), is_far);
    double const usual = median_of(rest_);
    return median_of(std::move(far)) - usual >= least * (median_of(std::move(near)) - usual);
  }

  /// The first values or the last ones are of another kind. @return whether their difference is no part of what is left to describe.
  [[nodiscard]] bool take_first_part(own_vector<bool> const& is_other, other_values const& others) {
    std::size_t const at = is_other.front() ? others.count : count_ - others.count;
    double const before = is_other.front() ? others.median : others.usual;
    double const after = is_other.front() ? others.usual : others.median;
    if (before > after && at <= count_ / 2 && found_.warmup == 0) {
      found_.warmup = at;
      return true;
    }
    if (before < after && at < min_part) {
      found_.change = lasting_change{at, before, after, 2.0 / chance_orders(others.count)};
      return false;
    }
    if (found_.others || std::min(at, count_ - at) >= min_part) return false;
    found_.others = others;
    found_.shape = series_shape::mixed;
    return true;
  }

  /// The number of orders of the values in which so many others can come.
  [[nodiscard]] double chance_orders(std::size_t others) const {
    auto const all = static_cast<double>(count_);
    auto const part = static_cast<double>(others);
    return std::exp(log_gamma(all + 1.0) - log_gamma(part + 1.0) - log_gamma(all - part + 1.0));
  }

  /// The distance at which the pattern repeats; 0 if it does not, or fewer than three times.
  [[nodiscard]] std::size_t period_of(own_vector<bool> const& is_other, own_vector<std::size_t> const& starts) const {
    constexpr std::size_t max_candidates = 6;
    for (std::size_t j = 1; j < std::min(starts.size(), max_candidates); ++j) {
      std::size_t const period = starts[j] - starts[0];
      if (3 * period > count_ + period - 1 || starts.size() < 3) break;
      if (starts.size() + 1 < count_ / period) continue;  // long runs resemble themselves
      // As many others in each period.
      std::size_t in_first = 0;
      std::size_t all = 0;
      for (std::size_t i = 0; i < count_; ++i) {
        all += is_other[i] ? 1U : 0U;
        in_first += is_other[i] && i >= starts[0] && i < starts[0] + period ? 1U : 0U;
      }
      auto const expected = static_cast<double>(in_first * count_) / static_cast<double>(period);
      if (std::abs(static_cast<double>(all) - expected) > 0.1 * expected + static_cast<double>(in_first)) continue;
      std::size_t different = 0;
      std::size_t both = 0;
      for (std::size_t i = period; i < count_; ++i) {
        different += is_other[i] != is_other[i - period] ? 1U : 0U;
        both += is_other[i] && is_other[i - period] ? 1U : 0U;
      }
      if (both >= 2 && 20 * different <= both) return period;
    }
    return 0;
  }

  /// Whether the others come in fewer runs than in a random order. Source: A. Wald and J. Wolfowitz, "On a test whether two samples are
  /// from the same population", Annals of Mathematical Statistics 11 (1940).
  [[nodiscard]] bool is_in_runs(other_values const& others) const {
    auto const all = static_cast<double>(count_);
    auto const rare = static_cast<double>(others.count);
    double const expected = rare * (all - rare + 1.0) / all;            // runs of the others alone
    double const deviation = std::sqrt(expected * (rare - 1.0) / all);  // of the number of runs, nearly
    return others.count >= min_part && static_cast<double>(others.runs) < expected - 3.0 * deviation;
  }

  /// A shape that repeats: the autocorrelation has a peak beyond chance, and another one at twice the distance.
  void find_smooth_period() {
    constexpr std::size_t max_points = 2048;
    constexpr double min_peak = 0.4;
    constexpr double min_deviation = 0.005;  // of the repeated part, relative to the mean
    series_values const values = clipped(part_of(rest_, count_ > max_points ? count_ - max_points : 0, count_), 5.0);
    std::size_t const count = values.size();
    auto const all = static_cast<double>(count);
    std::size_t const max_lag = 2 * count / 3;
    double const middle = mean_between(values, 0, count);
    series_values at(max_lag + 1);
    for (std::size_t lag = 0; lag <= max_lag; ++lag) {
      for (std::size_t i = lag; i < count; ++i) at[lag] += (values[i] - middle) * (values[i - lag] - middle);
      at[lag] *= all / static_cast<double>(count - lag);
      if (at[0] <= 0.0) return;
    }
    double const variance = at[0] / all;
    for (std::size_t lag = max_lag + 1; lag-- > 0;) at[lag] /= at[0];
    std::size_t decay = 1;  // noise whose autocorrelation falls as fast in the beginning
    while (decay < max_lag && at[decay] > 0.5 * at[1]) ++decay;
    double const time = at[1] > 0.2 ? static_cast<double>(decay) / std::log(2.0) : (1.0 + at[1] * at[1]) / (1.0 - at[1] * at[1]);
    std::size_t valley = 1;
    while (valley < max_lag && at[valley] > 0.0) ++valley;
    std::size_t peak = 0;
    for (std::size_t lag = std::max<std::size_t>(valley, 2); lag <= count / 3; ++lag) {
      if (peak == 0 || at[lag] > at[peak]) peak = lag;
    }
    if (peak == 0 || at[peak] < min_peak) return;
    std::size_t first = std::max<std::size_t>(valley, 2);  // the largest peak can be at a multiple
    while (at[first] < 0.85 * at[peak]) ++first;
    auto const from = at.begin() + static_cast<std::ptrdiff_t>(first);
    peak = static_cast<std::size_t>(std::max_element(from, from + static_cast<std::ptrdiff_t>(first / 2 + 1)) - at.begin());
    if (2 * peak > max_lag) return;  // seen less than twice
    double comb = 0.0;
    double cycles = 0.0;
    for (std::size_t lag = peak; lag <= std::min(max_lag, 4 * peak); lag += peak) {
      comb += at[lag];
      cycles += 1.0;
    }
    double const chance = std::sqrt(time / static_cast<double>(count - peak) / cycles);
    if (at[2 * peak] < 0.5 * at[peak] || comb / cycles < std::max(peak < 4 ? 0.6 : min_peak, 3.0 * chance)) return;
    double const deviation = std::sqrt(at[peak] * variance);
    if (deviation <= min_deviation * std::abs(middle)) return;
    found_.shape = series_shape::periodic;
    found_.period = peak;
  }

  /// Whether all parts of this length between `begin` and `end` have means on the same side of a value.
  [[nodiscard]] static bool stays(series_values const& values, std::size_t begin, std::size_t end, std::size_t length, double limit,
                                  bool above) {
    for (std::size_t at = begin; at + length <= end; at += length) {
      if ((mean_between(values, at, at + length) > limit) != above) return false;
    }
    return true;
  }

  /// The first values are larger than all others. The number of them is the one that leaves the mean of the rest with the smallest error.
  /// Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997).
  void find_warmup() {
    constexpr double max_p_value = 0.0005;  // far below 0.05, because the position was chosen
    if (found_.warmup > 0) return;
    series_values const values = clipped(rest_, 5.0);
    double sum = 0.0;
    double squares = 0.0;
    double const middle = median_of(values);
    series_values errors(count_);
    for (std::size_t i = count_; i-- > 0;) {
      double const value = values[i] - middle;
      sum += value;
      squares += value * value;
      auto const n = static_cast<double>(count_ - i);
      errors[i] = (squares - sum * sum / n) / (n * n);
    }
    auto const last = errors.begin() + static_cast<std::ptrdiff_t>(count_ / 2);
    double const least = *std::min_element(errors.begin(), last) * (1.0 + 8.0 / static_cast<double>(count_));
    auto const begin =
        static_cast<std::size_t>(std::find_if(errors.begin(), last, [&](double each) { return each <= least; }) - errors.begin());
    if (begin == 0 || begin > count_ / 4) return;
    double const early = mean_between(values, 0, begin);
    double const rest = mean_between(values, begin, count_);
    auto const quarter = [&](double longer) { return rest + 0.25 * (longer - rest); };
    if (early <= rest || median_of(part_of(values, 0, begin)) <= quarter(early)) return;  // a few of them
    if (!stays(rest_, begin, count_, begin, quarter(mean_between(rest_, 0, begin)), false)) return;
    series_values const later = part_of(values, begin, count_);
    if (noise_fit{later.size(), cosine_series{later}}.difference_p_value(early - rest, begin, later.size()) >= max_p_value) return;
    found_.warmup = begin;
    std::size_t const third = (begin + 2) / 3;
    double const at_first = mean_between(values, 0, third) - rest;
    double const at_last = mean_between(values, begin - third, begin) - rest;
    found_.is_gradual = begin > 1 && at_last < 0.6 * at_first;
  }

  /// The last position from which on the values differ for good: the split that explains most of the variance (binary segmentation).
  /// Sources: D. M. Hawkins, "Testing a sequence of observations for a shift in location", JASA 72 (1977); G. Schwarz, "Estimating the
  /// dimension of a model", Annals of Statistics 6 (1978).
  void find_change() {
    std::size_t begin = found_.change ? found_.change->at : found_.warmup;
    while (auto const next = change_after(begin)) {
      found_.change = next;
      begin = next->at;
    }
  }

  /// The part of the variance that a line explains, as a sum of squares.
  [[nodiscard]] static double by_line(series_values const& values) {
    auto const all = static_cast<double>(values.size());
    double product = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) product += values[i] * (static_cast<double>(i) - 0.5 * (all - 1.0));
    return product * product * 12.0 / (all * (all * all - 1.0));
  }

  [[nodiscard]] std::optional<lasting_change> change_after(std::size_t begin) const {
    double const max_p_value = count_ < 50 ? 0.0002 : 0.0003;  // far below 0.05, because the position was chosen
    constexpr double min_change = 0.01;
    constexpr double max_slope = 0.03;  // what a line still explains without the step
    if (count_ - begin < 2 * min_part) return std::nullopt;
    series_values const values = clipped(part_of(rest_, begin, count_), 12.0);
    std::size_t const count = values.size();
    auto const all = static_cast<double>(count);
    double const middle = mean_between(values, 0, count);
    double sum = 0.0;
    double squares = 0.0;
    double explained = 0.0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double const value = values[i] - middle;
      sum += value;
      squares += value * value;
      auto const early = static_cast<double>(i + 1);
      if (i + 1 < min_part || i + 1 + min_part > count) continue;
      if (double const by_split = sum * sum * all / (early * (all - early)); by_split > explained) {
        explained = by_split;
        at = i + 1;
      }
    }
    double const by_choice = 3.0 * std::log(all) * std::max(0.0, squares - explained) / all;
    if (at == 0 || explained < by_line(values) + by_choice) return std::nullopt;
    double const before = mean_between(values, 0, at);
    double const after = mean_between(values, at, count);
    // Clipped in each part, because a few long first steps are far from the median of all.
    series_values const early = clipped(part_of(rest_, begin, begin + at), 12.0);
    series_values const late = clipped(part_of(rest_, begin + at, count_), 12.0);
    double const between = mean_between(early, 0, at) - mean_between(late, 0, count - at);
    double const by_parts = between * between * static_cast<double>(at) * static_cast<double>(count - at) / all;
    if (by_line(early) + by_line(late) > max_slope * by_parts + by_choice) return std::nullopt;
    double const limit = 0.5 * (before + after);
    std::size_t const length = std::max<std::size_t>(2, std::min(at, count - at) / 3);
    if (!stays(values, 0, at, length, limit, before > after) || !stays(values, at, count, length, limit, after > before))
      return std::nullopt;
    series_values step(count, 0.0);
    std::fill(step.begin() + static_cast<std::ptrdiff_t>(at), step.end(), 1.0);
    double const p_value = noise_fit{count, cosine_series{values}, cosine_series{step}}.change_p_value();
    if (p_value >= max_p_value || std::abs(after - before) <= min_change * std::abs(before)) return std::nullopt;
    return lasting_change{begin + at, mean_between(series_, begin, begin + at), mean_between(series_, begin + at, count_), p_value};
  }

  /// Whether the largest tenth of the distances from the median falls so slowly that the mean depends on the next large value. Source:
  /// B. M. Hill, "A simple general approach to inference about the tail of a distribution", Annals of Statistics 3 (1975).
  void find_tail() {
    constexpr std::size_t min_tail = 5;
    constexpr double min_share = 0.005;  // of the sum
    std::size_t const count = count_ - found_.warmup;
    if (found_.shape == series_shape::periodic || found_.change || count < 10 * min_tail) return;
    series_values distances = part_of(rest_, found_.warmup, count_);
    double const middle = median_of(distances);
    for (double& each : distances) each = std::max(0.0, each - middle);
    std::sort(distances.begin(), distances.end());
    std::size_t const tail = count / 10;
    double const limit = distances[count - tail - 1];
    if (limit <= 0.0) return;
    double index = 0.0;
    double excess = 0.0;
    for (std::size_t i = count - tail; i < count; ++i) {
      index += std::log(distances[i] / limit) / static_cast<double>(tail);
      excess += distances[i] - limit;
    }
    double const max_index = 0.55 + 0.45 / std::sqrt(static_cast<double>(tail));  // with the error of the estimate
    if (index <= max_index || excess < min_share * middle * static_cast<double>(count)) return;
    found_.shape = series_shape::tailed;
    found_.without_mean = true;
  }

  /// The size is that of the Theil-Sen line, which is robust against single values. The p-value is that of a straight line by generalised
  /// least squares with the models of the noise, because slow noise looks like a trend. Source: P. K. Sen, "Estimates of the regression
  /// coefficient based on Kendall's tau", JASA 63 (1968).
  void find_trend() {
    double const max_p_value = count_ < 60 ? 0.003 : 0.01;  // few values show little of slow noise
    std::size_t const begin = has_levels() ? 0 : found_.warmup;
    if (count_ - begin < 4) return;
    series_values values = part_of(rest_, begin, count_);
    std::size_t const count = values.size();
    double const slope = median_slope(values);
    for (std::size_t i = 0; i < count; ++i) values[i] -= slope * static_cast<double>(i);
    values = clipped(std::move(values), 5.0);
    for (std::size_t i = 0; i < count; ++i) values[i] += slope * static_cast<double>(i);
    series_values line(count);
    std::iota(line.begin(), line.end(), 0.0);
    linear_trend result;
    result.drift = slope * static_cast<double>(count - 1);
    result.p_value = noise_fit{count, cosine_series{values}, cosine_series{line}}.change_p_value();
    std::size_t const third = count / 3;
    double const first = median_of(part_of(values, 0, third));
    double const second = median_of(part_of(values, third, count - third));
    double const last = median_of(part_of(values, count - third, count));
    double const passed = (second - first) / (last - first);  // in the middle third
    bool const is_steady = passed > -0.1 && passed < 1.1;
    result.is_significant = count_ >= min_values && result.p_value < max_p_value && !found_.change && !has_levels() && is_steady;
    found_.trend = result;
  }

  /// Theil and Sen's slope per value: the median of the slopes between all pairs of at most 200 means of neighbours.
  [[nodiscard]] static double median_slope(series_values const& values) {
    constexpr std::size_t max_points = 200;
    series_values const points = at_most_points(values, max_points);
    series_values slopes;
    slopes.reserve(points.size() * (points.size() - 1) / 2);
    for (std::size_t late = 1; late < points.size(); ++late) {
      for (std::size_t early = 0; early < late; ++early)
        slopes.push_back((points[late] - points[early]) / static_cast<double>(late - early));
    }
    std::size_t const values_a_point = values.size() / points.size();
    return median_of(std::move(slopes)) / static_cast<double>(values_a_point);
  }

  void find_interval() {
    constexpr std::size_t min_runs = 6;
    constexpr double min_effective = 0.5;
    if (count_ < 2) return;
    auto interval = interval_of_mean(series_);
    found_.without_mean = found_.without_mean || found_.change || (has_levels() && found_.others->runs < min_runs);
    if (found_.shape == series_shape::even && interval->effective < min_effective * static_cast<double>(count_))
      found_.shape = series_shape::correlated;
    double const usual = mean_between(rest_, found_.warmup, count_);
    if (usual > 0.0) found_.moved = std::abs(interval->mean / usual - 1.0);
    if (!found_.without_mean) found_.interval = interval;
  }

  series_values const& series_;
  series_values rest_;  ///< without the difference between the kinds
  std::size_t count_;
  series_description found_;
};

}  // namespace detail

/// @brief Describes a series. Takes at most n log n time. Error rates: docs/statistics.md.
/// @param values in the order in which they were measured.
[[nodiscard]] inline series_description describe(::profkit::detail::own_vector<double> const& values) {
  return detail::series_describer{values}.describe();
}

/// @brief The warm-up and the change of a series, as in `describe`, in less time. Trend, interval and tail are not looked for.
[[nodiscard]] inline series_description describe_parts(::profkit::detail::own_vector<double> const& values) {
  return detail::series_describer{values}.describe_parts();
}

}  // namespace PROFKIT_NAMESPACE
