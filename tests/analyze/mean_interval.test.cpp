// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/mean_interval.hpp>

#include "../support/made_series.hpp"
#include "../support/testing.hpp"
#include "autocorrelation.hpp"

TEST_CASE("Student's quantiles match published tables", "[statistics]") {
  CHECK(profkit::student_quantile(0.95, 1.0) == Approx(12.706).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 2.0) == Approx(4.303).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 5.0) == Approx(2.571).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 10.0) == Approx(2.228).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 29.0) == Approx(2.045).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 120.0) == Approx(1.980).margin(1e-3));
  CHECK(profkit::student_quantile(0.95, 1e6) == Approx(1.960).margin(1e-3));
  CHECK(profkit::student_quantile(0.99, 10.0) == Approx(3.169).margin(1e-3));
  CHECK(profkit::student_quantile(0.5, 3.0) == Approx(0.765).margin(1e-3));
}

TEST_CASE("quantiles do not write the C library's global signgam, so that two threads can compute them", "[statistics]") {
  signgam = 42;
  CHECK(profkit::student_quantile(0.95, 3.5) > 0.0);
  CHECK(signgam == 42);
}

TEST_CASE("degrees of freedom between whole numbers lie between their quantiles", "[statistics]") {
  CHECK(profkit::student_quantile(0.95, 2.5) < profkit::student_quantile(0.95, 2.0));
  CHECK(profkit::student_quantile(0.95, 2.5) > profkit::student_quantile(0.95, 3.0));
}

TEST_CASE("for independent values the interval of the mean is the textbook's", "[statistics]") {
  std::vector<double> const values{1.0, 3.0, 4.0, 4.0, 4.0, 5.0, 7.0};
  auto const interval = profkit::interval_of_mean(values);
  REQUIRE(interval);
  CHECK(interval->effective == Approx(7.0).epsilon(0.01));
  CHECK(interval->mean == Approx(4.0));
  CHECK(interval->half_width == Approx(2.446912 * 1.825742 / std::sqrt(7.0)));  // t of 6 degrees of freedom, standard deviation
  CHECK(*interval->relative() == Approx(interval->half_width / 4.0));
}

TEST_CASE("fewer than two values have no interval, and equal values one of width 0", "[statistics]") {
  CHECK_FALSE(profkit::interval_of_mean({}));
  CHECK_FALSE(profkit::interval_of_mean({7.0}));
  CHECK(profkit::interval_of_mean({7.0, 9.0})->half_width == Approx(12.706205));
  CHECK(profkit::interval_of_mean(std::vector<double>(20, 7.0))->half_width == 0.0);
  CHECK_FALSE(profkit::interval_of_mean({0.0, 0.0})->relative());
}

TEST_CASE("autocorrelated values count as fewer", "[statistics]") {
  normal_numbers numbers{3};
  std::vector<double> const independent = made_series(numbers, 1000, 1.0);
  std::vector<double> const alike = made_series(numbers, 1000, 1.0, 0.5);
  CHECK(profkit::interval_of_mean(independent)->effective > 700.0);
  CHECK(profkit::interval_of_mean(alike)->effective == Approx(1000.0 / 3.0).epsilon(0.3));  // n (1 - r) / (1 + r)
  std::vector<double> swings;
  for (int i = 0; i < 40; ++i) swings.push_back(100.0 + i % 2);
  CHECK(profkit::interval_of_mean(swings)->effective <= 40.0);  // limited to the number of values
}

TEST_CASE("rare long values make the interval wider than Student's", "[statistics]") {
  std::vector<double> values(7, 1.0);
  values[3] = 8.0;
  // Mean 2, deviation sqrt(7); the cubes of the distances sum to 216 - 6.
  double const deviation = std::sqrt(7.0);
  double const shift = 210.0 / 7.0 / (6.0 * 7.0 * 7.0);
  CHECK(profkit::interval_of_mean(values)->half_width == Approx(2.446912 * deviation / std::sqrt(7.0) + shift));
}

TEST_CASE("a million values have an interval as narrow as their number allows", "[statistics]") {
  normal_numbers numbers{5};
  auto const interval = profkit::interval_of_mean(made_series(numbers, 1'000'000, 1.0, 0.9));
  REQUIRE(interval);
  CHECK(interval->half_width == Approx(1.96 * std::sqrt(19.0 / 1e6)).epsilon(0.15));
  CHECK(std::abs(interval->mean - 100.0) < 0.02);
}

TEST_CASE("a cautious interval is never narrower, and equal from 100 values on", "[statistics]") {
  normal_numbers numbers{6};
  for (std::size_t const count : {10U, 30U, 60U}) {
    auto const interval = profkit::interval_of_mean(made_series(numbers, count, 1.0));
    CHECK(interval->cautious_half_width > interval->half_width);
  }
  auto const interval = profkit::interval_of_mean(made_series(numbers, 100, 1.0));
  CHECK(interval->cautious_half_width == Approx(interval->half_width));
}

TEST_CASE("the effective number of independent values with a lag-1 autocorrelation is the textbook's", "[statistics]") {
  CHECK(profkit::effective_samples(30, 0.5) == Approx(10.0));
  CHECK(profkit::effective_samples(30, 0.0) == 30.0);
  CHECK(profkit::effective_samples(30, 1.0) == 3.0);
  CHECK(profkit::effective_samples(2, 0.9) == 2.0);
}
