// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

namespace profkit {

namespace detail {

/// The continued fraction of the incomplete beta function, by Lentz's method.
/// Source: NIST Digital Library of Mathematical Functions, 8.17.22; I. J. Thompson and A. R. Barnett, "Coulomb and Bessel functions of
/// complex arguments and order", Journal of Computational Physics 64 (1986).
inline double beta_fraction(double a, double b, double x) noexcept {
  constexpr double tiny = 1e-300;
  constexpr double precise = 1e-14;
  constexpr int max_terms = 1000;
  auto const not_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double result = d;
  for (int m = 1; m <= max_terms; ++m) {
    double const even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    double const odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    double change = 1.0;
    for (double const term : {even, odd}) {
      d = 1.0 / not_zero(1.0 + term * d);
      c = not_zero(1.0 + term / c);
      change = c * d;
      result *= change;
    }
    if (std::abs(change - 1.0) < precise) break;
  }
  return result;
}

/// Log gamma without the global variable that std::lgamma writes, which is a data race between threads.
inline double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// The regularised incomplete beta function I_x(a, b), for 0 <= x <= 1. Source: DLMF 8.17.2, 8.17.4.
inline double incomplete_beta(double a, double b, double x) noexcept {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  double const front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly only on this side of its mean.
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

}  // namespace detail

/// @brief The share of Student's t distribution within +-t. Source: DLMF 8.17 with x = freedom / (freedom + t^2).
/// @param t the distance from the middle, in standard errors.
/// @param freedom degrees of freedom, above 0; need not be whole.
[[nodiscard]] inline double student_share_within(double t, double freedom) noexcept {
  return 1.0 - detail::incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
}

/// @brief The two-sided quantile of Student's t distribution: 2.045 for 0.95 and 29 degrees of freedom.
/// @param share above 0, below 1.
/// @param freedom degrees of freedom, above 0.
[[nodiscard]] inline double student_quantile(double share, double freedom) noexcept {
  constexpr double pi = 3.14159265358979323846;
  double low = 0.0;
  double high = 1.0;
  while (student_share_within(high, freedom) < share && high < 1e12) {
    low = high;
    high *= 2.0;
  }
  // Newton's method, with bisection if a step would leave the bracket.
  double const log_factor = detail::log_gamma(0.5 * (freedom + 1.0)) - detail::log_gamma(0.5 * freedom) - 0.5 * std::log(freedom * pi);
  double t = 0.5 * (low + high);
  while (high - low > 1e-9 * std::max(1.0, high)) {
    double const excess = student_share_within(t, freedom) - share;
    (excess < 0.0 ? low : high) = t;
    double const density = std::exp(log_factor - 0.5 * (freedom + 1.0) * std::log1p(t * t / freedom));
    double const step = density > 0.0 ? excess / (2.0 * density) : 0.0;
    double const next = t - step;
    if (density > 0.0 && std::abs(step) <= 1e-10 * std::max(1.0, t)) return t;
    t = low < next && next < high ? next : 0.5 * (low + high);
  }
  return 0.5 * (low + high);
}

}  // namespace profkit
