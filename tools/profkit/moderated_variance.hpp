// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

}  // namespace profkit_program
