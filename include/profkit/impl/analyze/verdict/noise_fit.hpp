// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "../../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE {

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

/// @brief Means of blocks of neighbouring values, at most `max_points` of them; the values themselves if there are no more. An incomplete
/// last block is omitted.
[[nodiscard]] inline detail::own_vector<double> at_most_points(detail::own_vector<double> const& values, std::size_t max_points) {
  std::size_t const block = (values.size() + max_points - 1) / max_points;
  if (block <= 1) return values;
  detail::own_vector<double> result;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    auto const first = values.begin() + static_cast<std::ptrdiff_t>(begin);
    result.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(block), 0.0) / static_cast<double>(block));
  }
  return result;
}

/// @brief The discrete cosine transform of type II of a series, lowest frequency first: half a period over the series, one period, one and
/// a half, and so on.
///
/// For stationary noise the coefficients are nearly independent, and the variance of each is the spectral density at its frequency; for
/// independent values that is the variance of a value. For more than 500 values the high frequencies are omitted.
/// Source: U. K. Mueller and M. W. Watson, "Testing models of low-frequency variability", Econometrica 76 (2008).
class cosine_series {
 public:
  static constexpr std::size_t max_points = 500;  ///< longer series are averaged over blocks

  /// @brief Transforms a series. Takes quadratic time up to 500 values, and linear time beyond.
  explicit cosine_series(detail::own_vector<double> const& values) {
    detail::own_vector<double> points = at_most_points(values, max_points);
    std::size_t const count = points.size();
    if (count < 2) return;
    std::size_t const block = values.size() / count;
    mean_ = std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(count);
    for (double& each : points) each -= mean_;
    std::size_t const turn = 4 * count;  // one period of a cosine, in steps of the angle
    detail::own_vector<double> table(turn);
    constexpr double pi = 3.14159265358979323846;
    for (std::size_t i = 0; i < turn; ++i) table[i] = std::cos(2.0 * pi * static_cast<double>(i) / static_cast<double>(turn));
    double const norm = std::sqrt(2.0 * static_cast<double>(block) / static_cast<double>(count));
    for (std::size_t order = 1; order < count; ++order) {
      double sum = 0.0;
      std::size_t angle = order;
      for (double const each : points) {
        sum += each * table[angle];
        angle += 2 * order;
        if (angle >= turn) angle -= turn;
      }
      coefficients_.push_back(norm * sum);
      cosines_.push_back(std::cos(pi * static_cast<double>(order) / static_cast<double>(count * block)));
    }
  }

  /// @brief The mean of the values.
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// @brief The coefficients, lowest frequency first.
  [[nodiscard]] detail::own_vector<double> const& coefficients() const noexcept { return coefficients_; }
  /// @brief The cosine of the angular frequency (radians per value) of each coefficient.
  [[nodiscard]] detail::own_vector<double> const& cosines() const noexcept { return cosines_; }

 private:
  double mean_ = 0.0;
  detail::own_vector<double> coefficients_;
  detail::own_vector<double> cosines_;
};

/// @brief A model of the noise of step times: independent noise plus a first-order autoregressive process. It covers independent steps
/// (`share` 0), correlated steps (`share` 1), and independent steps on top of a slow change.
struct noise_model {
  double share = 0.0;           ///< share of the variance in the autoregressive process, 0 to 1
  double decay = 0.0;           ///< lag-1 autocorrelation of that process, 0 to below 1
  double prior = 1.0;           ///< prior weight relative to that of independent steps, which is 1
  double cautious_prior = 1.0;  ///< the same if slow changes are expected: see `noise_models`

  /// @brief The spectral density relative to independent noise of the same variance. Source: G. E. P. Box, G. M. Jenkins and G. C.
  /// Reinsel, "Time series analysis", 4th ed. (2008), 3.2.3.
  /// @param cosine of the angular frequency.
  [[nodiscard]] double density(double cosine) const noexcept {
    return 1.0 - share + share * (1.0 - decay * decay) / (1.0 - 2.0 * decay * cosine + decay * decay);
  }

  /// @brief The variance of the mean of `count` consecutive values of variance 1. Source: the sum of (1 - k / n) decay^k over the lags, in
  /// closed form.
  [[nodiscard]] double variance_of_mean(std::size_t count) const noexcept {
    auto const n = static_cast<double>(count);
    double const rest = 1.0 - decay;
    double const correlated = (1.0 + decay) / rest - 2.0 * decay * (1.0 - std::pow(decay, n)) / (n * rest * rest);
    return (1.0 - share + share * correlated) / n;
  }

  /// @brief The variance of the difference between the mean of `early` values of variance 1 and the mean of the `late` values that follow.
  [[nodiscard]] double variance_of_difference(std::size_t early, std::size_t late) const noexcept {
    auto const sum_variance = [this](std::size_t count) {
      auto const n = static_cast<double>(count);
      return n * n * variance_of_mean(count);
    };
    double const products = static_cast<double>(early) * static_cast<double>(late);
    double const covariance = (sum_variance(early + late) - sum_variance(early) - sum_variance(late)) / (2.0 * products);
    return variance_of_mean(early) + variance_of_mean(late) - 2.0 * covariance;
  }
};

/// @brief The noise models for `count` values, with their prior weights.
///
/// * Independent noise has the weight 1.
/// * Correlated noise has the total weight 0.2: correlation times from 1.5 values to half of the series, 20 to 100 % of the variance.
/// * Slow noise has the weight 0.8: 20 or 40 % of the variance with a correlation time of 50 values. Fewer than 100 values do not show it,
///   and an interval that allows for it is twice as wide. So its weight falls with the third power of the length below 100 values, and the
///   cautious one falls to 0.4 of itself at most.
///
/// The weights were chosen so that the interval of the mean has the coverage in docs/statistics.md. Fewer than 8 values count as
/// independent.
/// @param is_of_change whether the models are to tell a change from noise. Few values that resemble each other look like one, so fewer than
/// 28 values have a higher weight of correlated noise, and correlation times reach up to the whole series.
[[nodiscard]] inline detail::own_vector<noise_model> noise_models(std::size_t count, bool is_of_change) {
  detail::own_vector<noise_model> models{{}};
  if (count < 8) return models;
  double const few = is_of_change ? 10.0 / static_cast<double>(count) : 0.0;
  double const memory_prior = std::max(0.2, 4.0 * few * few * few);
  constexpr double slow_prior = 0.8;
  constexpr double slow_time = 50.0;
  double const half = 0.5 * static_cast<double>(count);
  detail::own_vector<double> times;
  times.push_back(1.5);
  while (2.0 * times.back() <= std::max(3.0, is_of_change ? 2.0 * half : half)) times.push_back(2.0 * times.back());
  for (double const time : times) {
    double const prior = memory_prior / (4.0 * static_cast<double>(times.size()));
    for (double const share : {0.2, 0.5, 0.8, 1.0}) models.push_back({share, 1.0 - 1.0 / time, prior, prior});
  }
  double const visible = std::min(1.0, std::pow(half / slow_time, 3.0));
  for (double const share : {0.2, 0.4}) {
    models.push_back({share, 1.0 - 1.0 / slow_time, 0.5 * slow_prior * visible, 0.5 * slow_prior * std::max(0.4, visible)});
  }
  return models;
}

/// @brief Fits the noise models to a series: the probability of each model, and the size of the noise under that model. Optionally together
/// with a change of a given shape (a line, a step), whose size is estimated by generalized least squares.
///
/// The probabilities are Bayesian: the likelihood of the cosine coefficients, averaged over the size of the noise and of the change, times
/// the prior of the model. The coefficients are treated as normal and independent, with the variance given by the spectrum of the model.
/// Sources: P. Whittle, "Estimation and information in stationary time series", Arkiv for Matematik 2 (1953); J. A. Hoeting, D. Madigan,
/// A. E. Raftery and C. T. Volinsky, "Bayesian model averaging: a tutorial", Statistical Science 14 (1999).
class noise_fit {
 public:
  /// @brief Fits the noise alone.
  /// @param count number of values from which the coefficients were computed.
  /// @param values at least 2.
  noise_fit(std::size_t count, cosine_series const& values) : count_{count} { fit(values, nullptr); }

  /// @brief Fits the noise together with a change.
  /// @param count number of values from which the coefficients were computed.
  /// @param values at least 2.
  /// @param shape the shape of the change, with as many values and not constant.
  noise_fit(std::size_t count, cosine_series const& values, cosine_series const& shape) : count_{count} { fit(values, &shape); }

  /// @brief The probability of a change of this size or larger by chance.
  [[nodiscard]] double change_p_value() const {
    double result = 0.0;
    for (candidate const& each : candidates_) {
      if (each.probability < negligible) continue;
      result += each.probability * (1.0 - student_share_within(std::abs(each.change) / each.change_error, freedom_));
    }
    return result;
  }

  /// @brief The probability of this difference or a larger one, by chance, between the mean of `early` values and the mean of the following
  /// `late` values.
  [[nodiscard]] double difference_p_value(double difference, std::size_t early, std::size_t late) const {
    double result = 0.0;
    for (candidate const& each : candidates_) {
      if (each.probability < negligible) continue;
      double const error = std::sqrt(each.variance * each.model.variance_of_difference(early, late));
      result += each.probability * (1.0 - student_share_within(std::abs(difference) / error, freedom_));
    }
    return result;
  }

  /// @brief The half-width of the interval that contains the mean of the process with a probability of 95 %.
  /// @param is_cautious whether to weight the models by `noise_model::cautious_prior`.
  [[nodiscard]] double mean_half_width(bool is_cautious) const {
    constexpr double outside = 0.05;
    double const t = student_quantile(1.0 - outside, freedom_);
    double total = 0.0;
    double low = std::numeric_limits<double>::infinity();
    double high = 0.0;
    auto const weight = [&](candidate const& each) {
      double const cautious = each.probability * each.model.cautious_prior / each.model.prior;
      double const result = is_cautious ? cautious : each.probability;
      return result < negligible ? 0.0 : result;
    };
    for (candidate const& each : candidates_) {
      total += weight(each);
      if (weight(each) <= 0.0) continue;
      low = std::min(low, t * each.mean_error);
      high = std::max(high, t * each.mean_error);
    }
    while (high - low > 1e-6 * high) {
      double const middle = 0.5 * (low + high);
      double sum = 0.0;
      for (candidate const& each : candidates_) {
        if (weight(each) > 0.0) sum += weight(each) * (1.0 - student_share_within(middle / each.mean_error, freedom_));
      }
      (sum > outside * total ? low : high) = middle;
    }
    return high;
  }

 private:
  /// The estimates under one model.
  struct candidate {
    noise_model model;
    double probability = 0.0;
    double variance = 0.0;    ///< variance of a value
    double mean_error = 0.0;  ///< standard error of the mean
    double change = 0.0;      ///< size of the change, in units of the shape
    double change_error = 0.0;
  };

  /// Sums over the coefficients, each divided by the density of the model.
  struct weighted_sums {
    double log_density = 0.0;
    double squares = 0.0;        ///< sum of squares of the values
    double shape_squares = 0.0;  ///< sum of squares of the shape
    double products = 0.0;       ///< sum of products of values and shape
  };

  static constexpr double negligible = 1e-6;

  static weighted_sums sums_of(noise_model const& model, cosine_series const& values, cosine_series const* shape) {
    weighted_sums result;
    double densities = 1.0;  // Product of the densities. Its logarithm is taken before it can overflow.
    for (std::size_t i = 0; i < values.coefficients().size(); ++i) {
      double const density = model.density(values.cosines()[i]);
      double const value = values.coefficients()[i];
      result.squares += value * value / density;
      if (shape != nullptr) {
        double const like = shape->coefficients()[i];
        result.shape_squares += like * like / density;
        result.products += value * like / density;
      }
      densities *= density;
      if (densities > 1e200 || densities < 1e-200) {
        result.log_density += std::log(densities);
        densities = 1.0;
      }
    }
    result.log_density += std::log(densities);
    return result;
  }

  void fit(cosine_series const& values, cosine_series const* shape) {
    auto const found = static_cast<double>(values.coefficients().size());
    freedom_ = std::max(1.0, shape != nullptr ? found - 1.0 : found);
    // Rounding errors of values without variation.
    double const rounding = 1e-12 * values.mean();
    double const min_squares = (found + 1.0) * rounding * rounding + std::numeric_limits<double>::min();
    detail::own_vector<double> logs;
    for (noise_model const& model : noise_models(count_, shape != nullptr)) {
      weighted_sums sums = sums_of(model, values, shape);
      double log_likelihood = std::log(model.prior) - 0.5 * sums.log_density;
      candidate each{model};
      if (shape != nullptr) {
        each.change = sums.products / sums.shape_squares;
        sums.squares -= each.change * sums.products;
        log_likelihood -= 0.5 * std::log(sums.shape_squares);
      }
      sums.squares = std::max(sums.squares, 0.0) + min_squares;
      each.variance = sums.squares / freedom_;
      each.mean_error = std::sqrt(each.variance * model.variance_of_mean(count_));
      if (shape != nullptr) each.change_error = std::sqrt(each.variance / sums.shape_squares);
      logs.push_back(log_likelihood - 0.5 * freedom_ * std::log(sums.squares));
      candidates_.push_back(each);
    }
    double const highest = *std::max_element(logs.begin(), logs.end());
    double total = 0.0;
    for (std::size_t i = 0; i < logs.size(); ++i) {
      candidates_[i].probability = std::exp(logs[i] - highest);
      total += candidates_[i].probability;
    }
    for (candidate& each : candidates_) each.probability /= total;
  }

  std::size_t count_;
  detail::own_vector<candidate> candidates_;
  double freedom_ = 1.0;
};

}  // namespace PROFKIT_NAMESPACE
