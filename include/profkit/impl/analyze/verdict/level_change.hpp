// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "noise_fit.hpp"
#include "trend.hpp"

namespace profkit {

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
