// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/autocorrelation.hpp>
#include <profkit/analyze/student.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program {

/// By how much times of one side are longer than those of the other: the logarithm of the ratio of the means, and how well it is known.
struct change_estimate {
  double log_ratio = 0.0;
  double variance = 0.0;  ///< of `log_ratio`
  double freedom = 0.0;   ///< degrees of freedom of `variance`

  [[nodiscard]] double change() const { return std::expm1(log_ratio); }

  /// Where the change lies with a probability of `share`.
  [[nodiscard]] std::pair<double, double> interval(double share) const {
    double const half = profkit::student_quantile(share, freedom) * std::sqrt(variance);
    return {std::expm1(log_ratio - half), std::expm1(log_ratio + half)};
  }
};

/// Degrees of freedom of a variance that is known, not estimated: from there on Student's distribution is the normal one.
inline constexpr double known = 1e6;

/// Runs of both sides from which on their spread is estimated, not assumed. A range that has to be right for hundreds of rows at once needs
/// more of them than one for a single row: the tails of Student's distribution are long where there are few.
inline constexpr std::size_t enough_for_one_row = 6;
inline constexpr std::size_t enough_for_many_rows = 10;

/// One side's runs: all variances are relative to the square of the mean.
class side_of_row {
 public:
  explicit side_of_row(std::vector<figures> const& runs) : runs_{static_cast<double>(runs.size())} {
    for (figures const& each : runs) mean_ += each.mean_ms / runs_;
    for (figures const& each : runs) {
      double const off = (each.mean_ms - mean_) / mean_;
      squares_ += off * off;
      auto const steps = static_cast<std::size_t>(each.steps);
      double const effective = profkit::effective_samples(steps, profkit::unbiased_autocorrelation(each.autocorrelation, steps));
      double const spread = each.std_ms / mean_;
      double const part = spread * spread / effective / (runs_ * runs_);
      within_ += part;
      within_squared_over_freedom_ += part * part / std::max(1.0, effective - 1.0);
    }
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double runs() const { return runs_; }
  [[nodiscard]] double freedom() const { return runs_ - 1.0; }
  /// Sum of the squared relative distances of the runs from their mean.
  [[nodiscard]] double squares() const { return squares_; }
  /// Variance of the mean that the steps within the runs explain.
  [[nodiscard]] double within() const { return within_; }
  /// For the degrees of freedom of a sum of variances.
  [[nodiscard]] double within_squared_over_freedom() const { return within_squared_over_freedom_; }

 private:
  double runs_;
  double mean_ = 0.0;
  double squares_ = 0.0;
  double within_ = 0.0;
  double within_squared_over_freedom_ = 0.0;
};

/// The ratio of means by the delta method, on its logarithm: var(log mean) = var(mean) / mean^2.
///
/// With `enough` runs their means are compared (B. L. Welch, "The generalization of Student's problem when several different population
/// variances are involved", Biometrika 34, 1947; the pooled variance where a side has fewer than three). With fewer the variance is that of
/// the steps within each run, with their effective number, plus `assumed` between runs, or what the runs show if that is more; the degrees
/// of freedom are those of F. E. Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2
/// (1946).
/// @param a, b means above 0.
/// @param assumed relative variance between runs of one side.
/// @param enough so many runs of both sides together, at least 4.
[[nodiscard]] inline change_estimate estimate_change(side_of_row const& a, side_of_row const& b, double assumed, std::size_t enough) {
  change_estimate result;
  result.log_ratio = std::log(b.mean() / a.mean());
  double const freedom = a.freedom() + b.freedom();
  double const pooled = freedom > 0.0 ? (a.squares() + b.squares()) / freedom : 0.0;
  double squares = 0.0;  // of the parts of the variance, each over its degrees of freedom
  auto const add = [&](double part, double of_freedom) {
    result.variance += part;
    squares += part * part / of_freedom;
  };
  if (a.runs() + b.runs() < static_cast<double>(enough)) {
    double const both = 1.0 / a.runs() + 1.0 / b.runs();
    double const within = a.within() + b.within();
    add(std::max(assumed * both, pooled * both - within), known);
    result.variance += within;
    squares += a.within_squared_over_freedom() + b.within_squared_over_freedom();
  } else if (a.runs() >= 3.0 && b.runs() >= 3.0) {
    for (side_of_row const* const side : {&a, &b}) add(side->squares() / side->freedom() / side->runs(), side->freedom());
  } else {
    add(pooled * (1.0 / a.runs() + 1.0 / b.runs()), freedom);
  }
  result.freedom = squares > 0.0 ? std::clamp(result.variance * result.variance / squares, 1.0, known) : known;
  return result;
}

/// The difference of the means in units of the spread of single steps: Hedges' g. n/a where the steps do not vary.
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
