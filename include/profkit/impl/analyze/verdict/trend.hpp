// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../time/quantiles.hpp"
#include "noise_fit.hpp"

namespace profkit {

/// @brief Robust middle and spread of values.
struct median_spread {
  double median = 0.0;  ///< in the unit of the values
  double mad = 0.0;     ///< median absolute deviation, not multiplied by 1.4826
};

/// @brief The median and the MAD; n/a without values.
[[nodiscard]] inline std::optional<median_spread> median_and_mad(detail::own_vector<double> values) {
  auto const itself = [](double value) { return value; };
  auto const median = select_quantile(values.begin(), values.end(), 0.5, itself);
  if (!median) return std::nullopt;
  for (double& value : values) value = std::abs(value - *median);
  return median_spread{*median, *select_quantile(values.begin(), values.end(), 0.5, itself)};
}

/// @brief The standard deviation of normal values with this spread: 1.4826 MAD. If more than half of the values are equal, so that the MAD
/// is 0, it is 1.2533 times the mean absolute deviation. Source: Iglewicz and Hoaglin (see `count_outliers`).
[[nodiscard]] inline double robust_deviation(detail::own_vector<double> const& values, median_spread const& spread) noexcept {
  if (spread.mad > 0.0) return spread.mad / 0.6745;
  double const total =
      std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) { return sum + std::abs(value - spread.median); });
  return 1.2533 * total / static_cast<double>(values.size());
}

/// @brief Whether a value is an outlier: its modified z-score 0.6745 |x - median| / MAD is above 3.5, and it is more than 1 % from the
/// median. The second condition excludes harmless deviations of very steady steps. Source: B. Iglewicz and D. C. Hoaglin, "How to detect
/// and handle outliers", ASQC Quality Press (1993).
/// @param deviation the `robust_deviation` of all values.
[[nodiscard]] inline bool is_outlier(double value, median_spread const& spread, double deviation) noexcept {
  constexpr double max_score = 3.5;
  constexpr double min_distance = 0.01;
  double const distance = std::abs(value - spread.median);
  return distance > max_score * deviation && distance > min_distance * std::abs(spread.median);
}

/// @brief The number of outliers (`is_outlier`).
[[nodiscard]] inline std::uint64_t count_outliers(detail::own_vector<double> const& values) {
  auto const spread = median_and_mad(values);
  if (!spread) return 0;
  double const deviation = robust_deviation(values, *spread);
  std::uint64_t result = 0;
  for (double const value : values) {
    if (is_outlier(value, *spread, deviation)) ++result;
  }
  return result;
}

/// @brief The linear trend of a series.
struct trend {
  double drift = 0.0;    ///< from the first value to the last on the fitted line
  double p_value = 1.0;  ///< probability of a drift this large by chance
};

namespace detail {

/// Theil and Sen's slope per value: the median of the slopes between all pairs. Longer series than 1000 values are averaged in blocks.
inline double median_slope(detail::own_vector<double> const& values) {
  constexpr std::size_t max_points = 1000;
  detail::own_vector<double> const points = at_most_points(values, max_points);
  detail::own_vector<double> slopes;
  slopes.reserve(points.size() * (points.size() - 1) / 2);
  for (std::size_t late = 1; late < points.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) slopes.push_back((points[late] - points[early]) / static_cast<double>(late - early));
  }
  double const slope = *select_quantile(slopes.begin(), slopes.end(), 0.5, [](double each) { return each; });
  std::size_t const values_per_point = values.size() / points.size();
  return slope / static_cast<double>(values_per_point);
}

/// The values 0, 1, 2, ...
inline detail::own_vector<double> line_of(std::size_t count) {
  detail::own_vector<double> line(count);
  for (std::size_t i = 0; i < count; ++i) line[i] = static_cast<double>(i);
  return line;
}

/// Clips values at 5 standard deviations (estimated by the MAD) around the line.
inline detail::own_vector<double> near_line(detail::own_vector<double> values, double slope) {
  constexpr double bound = 5.0;
  detail::own_vector<double> rest = values;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  auto const spread = median_and_mad(rest);
  double const reach = bound * spread->mad / 0.6745;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    values[i] = std::clamp(rest[i], spread->median - reach, spread->median + reach) + slope * static_cast<double>(i);
  }
  return values;
}

}  // namespace detail

/// @brief Finds the drift of a series. Its size is the drift of the Theil-Sen line, which is robust against single values. Its p-value is
/// the p-value of a straight line by generalized least squares, averaged over the `noise_models`, because slow noise looks like a trend.
///
/// n/a with fewer than 4 values. Takes quadratic time up to 1000 values, and linear time beyond.
/// Sources: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968); `noise_fit`.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<trend> find_trend(::profkit::detail::own_vector<double> const& values) {
  if (values.size() < 4) return std::nullopt;
  double const slope = detail::median_slope(values);
  noise_fit const fit{values.size(), cosine_series{detail::near_line(values, slope)}, cosine_series{detail::line_of(values.size())}};
  return trend{slope * static_cast<double>(values.size() - 1), fit.change_p_value()};
}

/// @brief A position in a series at which the mean of the values changes.
struct level_change {
  std::size_t at = 0;    ///< position of the first value of the new level
  double before = 0.0;   ///< mean from the previous change, or from the beginning, to here
  double after = 0.0;    ///< mean from here to the end
  double p_value = 1.0;  ///< probability of a change this large at this position by chance
};

namespace detail {

/// Finds one change of the mean in a part of a series. `find_level_change` has the rules.
class level_change_finder {
 public:
  static constexpr std::size_t min_part = 10;
  /// Far below 0.05, because the position was chosen where the change is largest. False alarms: docs/statistics.md.
  static constexpr double max_p_value = 0.0005;
  static constexpr double min_change = 0.02;

  explicit level_change_finder(detail::own_vector<double> const& series) : series_{series} {}

  /// @return the position of the change, if there is one.
  [[nodiscard]] std::optional<level_change> find(std::size_t begin, std::size_t end) const {
    if (end - begin < 2 * min_part) return std::nullopt;
    detail::own_vector<double> const values = bounded(part(begin, end));
    split const best = best_split(values);
    if (best.at == 0 || best.explained < explained_by_line(values) + chance_of_position(values, best)) return std::nullopt;
    level_change result{begin + best.at, mean(begin, begin + best.at), mean(begin + best.at, end), 1.0};
    double const early = mean_of(values, 0, best.at);
    if (std::abs(mean_of(values, best.at, values.size()) - early) <= min_change * std::abs(early)) return std::nullopt;
    detail::own_vector<double> step(values.size(), 0.0);
    std::fill(step.begin() + static_cast<std::ptrdiff_t>(best.at), step.end(), 1.0);
    result.p_value = noise_fit{values.size(), cosine_series{values}, cosine_series{step}}.change_p_value();
    if (result.p_value >= max_p_value) return std::nullopt;
    return result;
  }

  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const { return mean_of(series_, begin, end); }

 private:
  struct split {
    std::size_t at = 0;      ///< 0: none
    double explained = 0.0;  ///< sum of squares
  };

  /// Clips values far from the median, so that single values do not decide.
  static detail::own_vector<double> bounded(detail::own_vector<double> values) {
    constexpr double bound = 5.0;           // in standard deviations, estimated by the MAD
    constexpr double min_deviation = 0.01;  // relative to the median, so that a change is found in a series without variation
    median_spread const spread = *median_and_mad(values);
    double const reach = bound * std::max(1.4826 * spread.mad, min_deviation * std::abs(spread.median));
    for (double& value : values) value = std::clamp(value, spread.median - reach, spread.median + reach);
    return values;
  }

  static double mean_of(detail::own_vector<double> const& values, std::size_t begin, std::size_t end) {
    auto const first = values.begin();
    return std::accumulate(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end), 0.0) /
           static_cast<double>(end - begin);
  }

  static split best_split(detail::own_vector<double> const& values) {
    double const middle = mean_of(values, 0, values.size());
    auto const all = static_cast<double>(values.size());
    double sum = 0.0;
    split best;
    for (std::size_t at = 1; at + min_part <= values.size(); ++at) {
      sum += values[at - 1] - middle;
      if (at < min_part) continue;
      auto const early = static_cast<double>(at);
      double const explained = sum * sum * all / (early * (all - early));
      if (explained > best.explained) best = {at, explained};
    }
    return best;
  }

  /// The penalty for choosing the position to fit the noise: as in Schwarz's criterion, the residual variance times 2 log n.
  static double chance_of_position(detail::own_vector<double> const& values, split const& best) {
    auto const count = static_cast<double>(values.size());
    double const middle = mean_of(values, 0, values.size());
    double const squares = std::accumulate(values.begin(), values.end(), 0.0,
                                           [&](double sum, double value) { return sum + (value - middle) * (value - middle); });
    return 2.0 * std::log(count) * std::max(0.0, squares - best.explained) / count;
  }

  static double explained_by_line(detail::own_vector<double> const& values) {
    auto const count = static_cast<double>(values.size());
    double const middle = mean_of(values, 0, values.size());
    double product = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) product += (values[i] - middle) * (static_cast<double>(i) - 0.5 * (count - 1.0));
    return product * product * 12.0 / (count * (count * count - 1.0));
  }

  [[nodiscard]] detail::own_vector<double> part(std::size_t begin, std::size_t end) const {
    return {series_.begin() + static_cast<std::ptrdiff_t>(begin), series_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  detail::own_vector<double> const& series_;
};

}  // namespace detail

/// @brief Finds the last permanent change of the mean of a series. n/a if there is none, and with fewer than 20 values.
///
/// The position is the split into two parts that explains most of the variance; each part is split again (binary segmentation). A split is
/// a change under three conditions. The means differ by more than 2 %. The split explains more of the variance than a straight line. A step
/// at that position is beyond noise: p < 0.0005 by generalized least squares, averaged over the `noise_models`. So correlated noise does
/// not look like a change. Takes linear time beyond 500 values. False alarms and power: docs/statistics.md. Sources: D. M. Hawkins,
/// "Testing a sequence of observations for a shift in location", JASA 72 (1977); A. J. Scott and M. Knott, "A cluster analysis method for
/// grouping means in the analysis of variance", Biometrics 30 (1974); G. Schwarz, "Estimating the dimension of a model", Annals of
/// Statistics 6 (1978); `noise_fit`.
/// @param values in the order in which they were measured.
[[nodiscard]] inline std::optional<level_change> find_level_change(::profkit::detail::own_vector<double> const& values) {
  detail::level_change_finder const finder{values};
  std::optional<level_change> last;
  std::size_t begin = 0;
  while (auto const next = finder.find(last ? last->at : 0, values.size())) {
    begin = last ? last->at : 0;
    last = next;
  }
  if (!last) return std::nullopt;
  if (auto const earlier = finder.find(begin, last->at)) last->before = finder.mean(earlier->at, last->at);
  return last;
}

}  // namespace profkit
