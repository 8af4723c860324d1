// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/analyze/verdict/noise_fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "autocorrelation.hpp"
#include "run_figures.hpp"

namespace profkit_program {

/// Degrees of freedom from which Student's distribution is taken as the normal one: its quantiles differ by less than 0.1 %.
inline constexpr double normal_freedom = 1e4;

/// The quantile of Student's distribution for a two-sided share, also for many degrees of freedom.
[[nodiscard]] inline double quantile(double share, double freedom) {
  if (freedom < normal_freedom) return profkit::student_quantile(share, freedom);
  double low = 0.0;
  double high = 40.0;
  for (int i = 0; i < 60; ++i) {
    double const middle = 0.5 * (low + high);
    (std::erfc(middle / std::sqrt(2.0)) > 1.0 - share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// One row in the runs of one side. All variances are relative to the square of the mean, which makes them variances of its logarithm
/// (delta method).
class side_of_row {
 public:
  /// @param runs at least one.
  explicit side_of_row(std::vector<figures> const& runs) : runs_{static_cast<double>(runs.size())} {
    for (figures const& each : runs) mean_ += each.mean_ms / runs_;
    for (figures const& each : runs) {
      deviations_.push_back((each.mean_ms - mean_) / mean_);
      auto const steps = static_cast<std::size_t>(each.steps);
      double const usual = profkit::effective_samples(steps, profkit::unbiased_autocorrelation(each.autocorrelation, steps));
      double const effective = std::max(1.0, usual / each.slow);
      double const spread = each.std_ms / mean_;
      double const part = std::isinf(each.slow) ? each.slow : spread * spread * each.slow / usual / (runs_ * runs_);
      within_ += part;
      within_squared_over_freedom_ += part * part / std::max(1.0, effective - 1.0);
    }
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double runs() const { return runs_; }
  /// Relative distance of each run from the mean of all.
  [[nodiscard]] std::vector<double> const& deviations() const { return deviations_; }
  /// Variance of the mean caused by the variation of steps within runs; infinite if a run has no mean.
  [[nodiscard]] double within() const { return within_; }
  /// For the degrees of freedom of a sum of variances.
  [[nodiscard]] double within_squared_over_freedom() const { return within_squared_over_freedom_; }

 private:
  double runs_;
  double mean_ = 0.0;
  std::vector<double> deviations_;
  double within_ = 0.0;
  double within_squared_over_freedom_ = 0.0;
};

/// The spread between runs, assumed and measured.
struct run_noise {
  double assumed = 0.0;                       ///< assumed variance between the runs of one side
  double assumed_squared_over_freedom = 0.0;  ///< 0: the assumption is no estimate
  double variance = 0.0;                      ///< measured variance between the runs of one side
  double freedom = 0.0;                       ///< degrees of freedom of `variance`
  double runs_freedom = 0.0;                  ///< number of runs minus 2; 0: one run per side, so `variance` is unknown
  double both = 2.0;                          ///< a variance between runs times this is that of the ratio: 1/m + 1/n for m and n runs
  double within = 0.0;                        ///< variance of the ratio caused by the variation of steps within runs; infinite if unknown
  double within_squared_over_freedom = 0.0;
  bool is_shared = false;  ///< contains the part that all rows of a run share

  /// Whether the runs spread more than the assumption allows, at 5 %.
  [[nodiscard]] bool refutes_assumption() const {
    if (runs_freedom <= 0.0) return false;
    // The quantile of chi-square over its degrees of freedom. Source: E. B. Wilson and M. M. Hilferty, "The distribution of chi-square",
    // Proceedings of the National Academy of Sciences 17 (1931).
    double const term = 2.0 / (9.0 * std::min(freedom, normal_freedom));
    double const limit = std::pow(1.0 - term + 1.6449 * std::sqrt(term), 3.0);
    return variance * both > limit * (assumed * both + within);
  }
};

/// The half-width of the interval around the logarithm of a ratio that contains the true value with a probability of 1 - `error`. Infinite
/// if nothing is known.
///
/// The shared part with fewer than 6 runs: whole runs can be of two kinds, and runs of one side that are all of one kind resemble each
/// other without being typical. With 5 runs the sides differ so in 1 of 16 comparisons, with 6 in 1 of 32. So the assumed variance counts
/// like `prior_freedom` further runs. One run per side relies on it alone.
///
/// Everything else: the narrower one of two intervals around the same middle. The first uses the assumed spread and is wrong with a
/// probability of `error` / (1 + f), at least a fifth of it, where f is the number of runs minus 2. The second is Student's interval from
/// the measured spread and is wrong with the rest of `error`. Both hold with 1 - `error` (Bonferroni). If the runs refute the assumption,
/// the first interval is dropped. Runs that resemble each other by chance do not hide what the steps in them show: `within` is the smallest
/// variance.
/// @param error above 0, below 1.
[[nodiscard]] inline double half_width(run_noise const& noise, double error) {
  constexpr double min_freedom = 4.0;  // 6 runs
  constexpr double prior_freedom = 2.0;
  double const runs = noise.runs_freedom;
  bool const is_within_known = std::isfinite(noise.within);
  double const measured = noise.variance * noise.both;
  double const of_assumed = noise.assumed_squared_over_freedom * noise.both * noise.both;
  // Source: F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2 (1946).
  auto const half = [&](double share, double variance, double squares_over_freedom) {
    double const freedom =
        squares_over_freedom > 0.0 ? std::clamp(variance * variance / squares_over_freedom, 1.0, normal_freedom) : normal_freedom;
    return quantile(share, freedom) * std::sqrt(variance);
  };
  double const unknown = std::numeric_limits<double>::infinity();
  if (runs <= 0.0 || (noise.is_shared && runs < min_freedom)) {
    if (!is_within_known) return unknown;
    double const beyond = runs > 0.0 ? std::max(0.0, measured - noise.within) : 0.0;
    double const between = (prior_freedom * noise.assumed * noise.both + runs * beyond) / (prior_freedom + runs);
    double const squares = runs > 0.0 ? between * between / (prior_freedom + runs) : 0.0;
    return half(1.0 - error, between + noise.within, squares + of_assumed + noise.within_squared_over_freedom);
  }
  constexpr double min_share = 0.2;
  double const share = std::max(min_share, 1.0 / (1.0 + runs));
  double result = unknown;
  if (is_within_known && !noise.refutes_assumption())
    result = half(1.0 - error * share, noise.assumed * noise.both + noise.within, of_assumed + noise.within_squared_over_freedom);
  bool const is_within_larger = is_within_known && noise.within > measured;
  double const squares =
      is_within_larger ? noise.within_squared_over_freedom : measured * measured / std::min(noise.freedom, normal_freedom);
  return std::min(result, half(1.0 - error * (1.0 - share), is_within_larger ? noise.within : measured, squares));
}

/// The difference of the means in units of the spread of single steps: Hedges' g. n/a if the steps do not vary.
/// Source: L. V. Hedges, "Distribution theory for Glass's estimator of effect size and related estimators", Journal of Educational
/// Statistics 6 (1981).
[[nodiscard]] inline std::optional<double> hedges_g(std::vector<figures> const& a, std::vector<figures> const& b) {
  double squares = 0.0;
  double freedom = 0.0;
  double difference = 0.0;
  for (std::vector<figures> const* const side : {&a, &b}) {
    for (figures const& each : *side) {
      double const own = static_cast<double>(each.steps) - 1.0;
      squares += own * each.std_ms * each.std_ms;
      freedom += own;
      difference += (side == &b ? 1.0 : -1.0) * each.mean_ms / static_cast<double>(side->size());
    }
  }
  if (squares <= 0.0 || freedom < 2.0) return std::nullopt;
  return difference / std::sqrt(squares / freedom) * (1.0 - 3.0 / (4.0 * freedom - 1.0));
}

}  // namespace profkit_program
