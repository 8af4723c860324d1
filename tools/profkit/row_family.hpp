// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "change_estimate.hpp"
#include "machine_speed.hpp"

namespace profkit_program {

/// The common prior of the variances of many rows: a scaled inverse chi-square distribution.
struct variance_prior {
  double variance = 0.0;
  double freedom = 0.0;  ///< degrees of freedom of the prior; 0: no information, infinite: all rows have this variance
};

namespace detail {

/// The derivative of log gamma. Source: NIST Digital Library of Mathematical Functions, 5.5.2 and 5.11.2.
inline double digamma(double x) noexcept {
  double result = 0.0;
  while (x < 10.0) {
    result -= 1.0 / x;
    x += 1.0;
  }
  double const y = 1.0 / (x * x);
  return result + std::log(x) - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y / 252.0));
}

/// The second derivative of log gamma. Source: DLMF 5.15.5 and 5.15.8.
inline double trigamma(double x) noexcept {
  double result = 0.0;
  while (x < 10.0) {
    result += 1.0 / (x * x);
    x += 1.0;
  }
  double const y = 1.0 / (x * x);
  return result + 1.0 / x + 0.5 * y + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y / 42.0));
}

/// The x with trigamma(x) = y, for y > 0.
inline double inverse_trigamma(double y) noexcept {
  double low = 1e-6;
  double high = 1e8;
  for (int i = 0; i < 200 && high / low > 1.0 + 1e-12; ++i) {
    double const middle = std::sqrt(low * high);
    (trigamma(middle) > y ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace detail

/// Estimates the prior from the variances of rows, by the moments of their logarithms. Nothing with fewer than 3 rows.
/// Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
/// Statistical Applications in Genetics and Molecular Biology 3 (2004), section 6.2.
/// @param freedom of each of them, above 0.
[[nodiscard]] inline variance_prior fit_variance_prior(std::vector<double> variances, double freedom) {
  auto const rows = static_cast<double>(variances.size());
  if (variances.size() < 3) return {};
  // A variance of 0 has no logarithm; one far below the others results from rounding.
  auto const middle = variances.begin() + static_cast<std::ptrdiff_t>(variances.size() / 2);
  std::nth_element(variances.begin(), middle, variances.end());
  double const least = 1e-5 * *middle;
  if (least <= 0.0) return {};
  double const offset = std::log(0.5 * freedom) - detail::digamma(0.5 * freedom);
  double mean = 0.0;
  for (double& each : variances) {
    each = std::log(std::max(each, least)) + offset;
    mean += each / rows;
  }
  double spread = 0.0;
  for (double const each : variances) spread += (each - mean) * (each - mean) / (rows - 1.0);
  double const beyond_sampling = spread - detail::trigamma(0.5 * freedom);
  if (beyond_sampling <= 0.0) return {std::exp(mean), std::numeric_limits<double>::infinity()};
  double const half = detail::inverse_trigamma(beyond_sampling);
  return {std::exp(mean + detail::digamma(half) - std::log(half)), 2.0 * half};
}

/// Whether a variance is larger than the prior allows, at 0.1 %. Source: E. Paulson, "An approximate normalization of the analysis of
/// variance distribution", Annals of Mathematical Statistics 13 (1942).
[[nodiscard]] inline bool refutes_prior(double variance, double freedom, variance_prior const& prior) {
  constexpr double normal_quantile = 3.0902;
  double const ratio = std::cbrt(variance / prior.variance);
  double const own = 2.0 / (9.0 * freedom);
  double const of_prior = 2.0 / (9.0 * prior.freedom);  // 0 if infinite
  return (1.0 - of_prior) * ratio - (1.0 - own) > normal_quantile * std::sqrt(of_prior * ratio * ratio + own);
}

/// The variance of a row, shrunk towards the prior: the posterior mean of Smyth (2004), section 5. A row that refutes the prior keeps its
/// own variance. Source: B. Phipson et al., "Robust hyperparameter estimation protects against hypervariable genes", Annals of Applied
/// Statistics 10 (2016).
/// @param max_freedom degrees of freedom of all rows of the prior together, because the prior is an estimate.
[[nodiscard]] inline variance_prior moderate(double variance, double freedom, variance_prior const& prior, double max_freedom) {
  if (prior.freedom <= 0.0 || refutes_prior(variance, freedom, prior)) return {variance, freedom};
  if (std::isinf(prior.freedom)) return {prior.variance, std::max(freedom, max_freedom)};
  double const together = prior.freedom + freedom;
  return {(prior.freedom * prior.variance + freedom * variance) / together, std::max(freedom, std::min(together, max_freedom))};
}

/// A row of a family with the figures of its runs.
struct family_row {
  side_of_row a;
  side_of_row b;
  double assumed = 0.0;  ///< assumed variance of the row alone between runs of one side
  bool is_part = true;   ///< not a sum of other rows, so it takes part in estimating the shared part
  double assumed_freedom = std::numeric_limits<double>::infinity();  ///< degrees of freedom of `assumed`, if it is an estimate

  [[nodiscard]] double log_ratio() const { return std::log(b.mean() / a.mean()); }
  [[nodiscard]] double both() const { return 1.0 / a.runs() + 1.0 / b.runs(); }
  [[nodiscard]] std::vector<double> deviations() const {
    std::vector<double> result = a.deviations();
    result.insert(result.end(), b.deviations().begin(), b.deviations().end());
    return result;
  }
};

/// The rows with times of one kind, such as all kernels. A run differs from another run in two ways: as a whole (clocks, a busy neighbour),
/// and row by row. The median of the rows separates both, for each run and for the change from A to B.
class row_family {
 public:
  /// @param rows at least one.
  /// @param common assumed variance between runs of one side that all rows share.
  /// @param machine null if the speed of the machine is unknown or irrelevant for these rows.
  row_family(std::vector<family_row> rows, double common, machine_change const* machine) : rows_{std::move(rows)} {
    if (machine != nullptr) machine_ = *machine;
    runs_freedom_ = rows_.front().a.runs() + rows_.front().b.runs() - 2.0;
    std::vector<std::vector<double>> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].is_part) parts_.push_back(i);
      all.push_back(rows_[i].deviations());
    }
    if (parts_.empty()) {
      for (std::size_t i = 0; i < rows_.size(); ++i) parts_.push_back(i);
    }
    find_common(all, common);
    find_own(all);
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }

  /// The range of the change of all rows that the machine alone can have caused.
  /// @param error probability of a larger effect.
  [[nodiscard]] log_range machine_range(double error) const {
    double const half = half_width(common_, error);
    log_range const seen = machine_.effect();
    return {seen.low - half, seen.high + half};
  }

  /// The change of a row without the part that the program certainly did not cause. It lies in all ranges of the row.
  [[nodiscard]] double estimate(std::size_t row) const { return rows_[row].log_ratio() - machine_.certain(); }

  /// The range of the change of a row caused by the program, if the machine caused no more than the change of most rows.
  /// @param machine the result of `machine_range`.
  [[nodiscard]] log_range change(std::size_t row, log_range const& machine, double error) const {
    double const shared = std::clamp(median_change_, machine.low, machine.high);
    double const certain = machine_.certain();
    double const half = half_width(own_[row], error);
    double const middle = rows_[row].log_ratio();
    return {middle - std::max(certain, shared) - half, middle - std::min(certain, shared) + half};
  }

  /// The range of the change of a row caused by the program, independent of other rows.
  [[nodiscard]] log_range change_alone(std::size_t row, double error) const {
    run_noise together = own_[row];
    together.assumed += common_.assumed;
    together.is_shared = true;
    if (runs_freedom_ > 0.0) {
      double const sum = together.variance + common_.variance;
      double const squares =
          together.variance * together.variance / together.freedom + common_.variance * common_.variance / common_.freedom;
      together.freedom = squares > 0.0 ? std::clamp(sum * sum / squares, 1.0, normal_freedom) : normal_freedom;
      together.variance = sum;
    }
    double const half = half_width(together, error);
    log_range const seen = machine_.effect();
    double const middle = rows_[row].log_ratio();
    return {middle - seen.high - half, middle - seen.low + half};
  }

  /// The variance of a row between runs that the changes of most rows show, if nothing changed in them. So one run per side shows that
  /// rows vary by more than is assumed. Few changed rows do not move the median of the distances. No information with few rows, and if the
  /// assumed variance of the first row explains it, at 1 %.
  [[nodiscard]] variance_prior shown_by_changes() const {
    constexpr std::size_t min_rows = 10;
    if (parts_.size() < min_rows) return {};
    std::vector<double> distances;
    for (std::size_t const part : parts_) distances.push_back(std::abs(rows_[part].log_ratio() - median_change_));
    auto const parts = static_cast<double>(parts_.size());
    double const deviation = 1.4826 * median(std::move(distances));
    double const variance = std::max(0.0, deviation * deviation - common_.within) / common_.both;
    double const error = 2.326 * 1.167 / std::sqrt(parts);  // of the deviation of normal values
    if (variance <= (1.0 + error) * (1.0 + error) * rows_.front().assumed) return {};
    return {variance, parts};
  }

  /// Standard deviation of a row between runs of one side: measured, or assumed.
  [[nodiscard]] double spread(std::size_t row) const {
    bool const is_measured = runs_freedom_ > 0.0;
    return std::sqrt(is_measured ? own_[row].variance + common_.variance : own_[row].assumed + common_.assumed);
  }

 private:
  static double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return 0.5 * (*middle + *std::max_element(values.begin(), middle));
  }

  /// Subtracts the mean of each side.
  void center(std::vector<double>& deviations) const {
    auto const middle = deviations.begin() + static_cast<std::ptrdiff_t>(rows_.front().a.runs());
    for (auto [begin, end] : {std::pair{deviations.begin(), middle}, std::pair{middle, deviations.end()}}) {
      double mean = 0.0;
      for (auto each = begin; each != end; ++each) mean += *each / static_cast<double>(end - begin);
      for (auto each = begin; each != end; ++each) *each -= mean;
    }
  }

  static double product(std::vector<double> const& x, std::vector<double> const& y) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  }

  [[nodiscard]] double median_of_parts(double (*figure)(family_row const&)) const {
    std::vector<double> values;
    for (std::size_t const part : parts_) values.push_back(figure(rows_[part]));
    return median(std::move(values));
  }

  void find_common(std::vector<std::vector<double>>& all, double assumed) {
    median_change_ = median_of_parts([](family_row const& row) { return row.log_ratio(); });
    common_.assumed = assumed;
    common_.is_shared = true;
    common_.both = rows_.front().both();
    common_.within = median_of_parts([](family_row const& row) { return row.a.within() + row.b.within(); });
    common_.within_squared_over_freedom =
        median_of_parts([](family_row const& row) { return row.a.within_squared_over_freedom() + row.b.within_squared_over_freedom(); });
    common_.runs_freedom = runs_freedom_;
    if (runs_freedom_ <= 0.0) return;
    std::vector<double> shared;
    for (std::size_t run = 0; run < all.front().size(); ++run) {
      std::vector<double> of_run;
      for (std::size_t const part : parts_) of_run.push_back(all[part][run]);
      shared.push_back(median(std::move(of_run)));
    }
    center(shared);
    for (std::vector<double>& each : all) {
      for (std::size_t run = 0; run < shared.size(); ++run) each[run] -= shared[run];
      center(each);
    }
    set_common_variance(std::move(shared));
  }

  /// The spread that the speed of the machine does not explain. The slope between 0 (independent of the speed) and 1 is fitted (analysis of
  /// covariance with one slope). An unbounded slope would take one degree of freedom; this one takes half, which gives the documented error
  /// rates in simulations (bench/compare_power.cpp).
  void set_common_variance(std::vector<double> deviations) {
    std::vector<double> machine = machine_.probe_deviations;
    for (std::size_t run = 0; run < machine.size(); ++run) {
      (machine_.is_waiting_certain ? deviations : machine)[run] +=
          (machine_.is_waiting_certain ? -1.0 : 1.0) * machine_.waiting_deviations[run];
    }
    double const squares = product(machine, machine);
    common_.freedom = squares > 0.0 ? runs_freedom_ - 0.5 : runs_freedom_;
    if (squares > 0.0) {
      double const slope = std::clamp(product(deviations, machine) / squares, 0.0, 1.0);
      double rest = 0.0;
      double rest_of_full = 0.0;
      for (std::size_t run = 0; run < deviations.size(); ++run) {
        rest_of_full += (deviations[run] - machine[run]) * (deviations[run] - machine[run]);
        deviations[run] -= slope * machine[run];
        rest += deviations[run] * deviations[run];
      }
      // The error of the slope counts where machines differ, but no more than the error of the probe does with the full slope.
      double const difference = machine_.log_ratio() - machine_.certain();
      double const of_slope = rest * (1.0 + difference * difference / (squares * common_.both));
      common_.variance = std::min(of_slope, std::max(rest, rest_of_full)) / common_.freedom;
      return;
    }
    common_.variance = product(deviations, deviations) / common_.freedom;
  }

  /// @param all variances without the shared part.
  void find_own(std::vector<std::vector<double>> const& all) {
    std::vector<double> variances;
    if (runs_freedom_ > 0.0) {
      for (std::size_t const part : parts_) variances.push_back(product(all[part], all[part]) / runs_freedom_);
    }
    double const max_freedom = runs_freedom_ * static_cast<double>(variances.size());
    variance_prior const prior = runs_freedom_ > 0.0 ? fit_variance_prior(std::move(variances), runs_freedom_) : variance_prior{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      family_row const& row = rows_[i];
      run_noise noise;
      noise.assumed = row.assumed;
      noise.assumed_squared_over_freedom = row.assumed * row.assumed / row.assumed_freedom;
      noise.both = row.both();
      noise.within = row.a.within() + row.b.within();
      noise.within_squared_over_freedom = row.a.within_squared_over_freedom() + row.b.within_squared_over_freedom();
      noise.runs_freedom = runs_freedom_;
      if (runs_freedom_ > 0.0) {
        double const variance = product(all[i], all[i]) / runs_freedom_;
        variance_prior const own = moderate(variance, runs_freedom_, prior, max_freedom);
        noise.variance = own.variance;
        noise.freedom = own.freedom;
      }
      own_.push_back(noise);
    }
  }

  std::vector<family_row> rows_;
  std::vector<std::size_t> parts_;  ///< positions of rows
  machine_change machine_{};        ///< equally fast if unknown
  double runs_freedom_ = 0.0;
  double median_change_ = 0.0;
  run_noise common_;
  std::vector<run_noise> own_;
};

}  // namespace profkit_program
