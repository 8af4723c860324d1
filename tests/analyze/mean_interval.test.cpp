// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze/mean_interval.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "../support/made_series.hpp"

using Catch::Approx;

namespace {

/// How often the interval of series around 100 holds 100.
double coverage(std::size_t count, double autocorrelation) {
  constexpr int series = 2000;
  normal_numbers numbers{20};
  int holds = 0;
  for (int i = 0; i < series; ++i) {
    auto const interval = profkit::interval_of_mean(made_series(numbers, count, 3.0, autocorrelation));
    if (std::abs(interval->mean - 100.0) <= interval->half_width) ++holds;
  }
  return holds / static_cast<double>(series);
}

}  // namespace

TEST_CASE("Student's quantiles are those of the tables", "[statistics]") {
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

TEST_CASE("quantiles leave the C library's sign of lgamma alone, so that two threads may look them up", "[statistics]") {
  signgam = 42;
  CHECK(profkit::student_quantile(0.95, 3.5) > 0.0);
  CHECK(signgam == 42);
}

TEST_CASE("degrees of freedom between whole numbers lie between their quantiles", "[statistics]") {
  CHECK(profkit::student_quantile(0.95, 2.5) < profkit::student_quantile(0.95, 2.0));
  CHECK(profkit::student_quantile(0.95, 2.5) > profkit::student_quantile(0.95, 3.0));
}

TEST_CASE("the interval of a mean is that of the textbook where neighbours do not resemble each other", "[statistics]") {
  std::vector<double> const values{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0};
  auto const interval = profkit::interval_of_mean(values);
  REQUIRE(interval);
  CHECK(interval->effective == 7.0);
  CHECK(interval->mean == Approx(4.428571));
  CHECK(interval->half_width == Approx(2.446912 * 1.511858 / std::sqrt(7.0)));  // t of 6 degrees of freedom, standard deviation
  CHECK(*interval->relative() == Approx(interval->half_width / 4.428571));
}

TEST_CASE("fewer than two values have no interval, and equal ones none of any width", "[statistics]") {
  CHECK_FALSE(profkit::interval_of_mean({}));
  CHECK_FALSE(profkit::interval_of_mean({7.0}));
  CHECK(profkit::interval_of_mean({7.0, 9.0})->half_width == Approx(12.706205));
  CHECK(profkit::interval_of_mean(std::vector<double>(20, 7.0))->half_width == 0.0);
  CHECK_FALSE(profkit::interval_of_mean({0.0, 0.0})->relative());
}

TEST_CASE("values that resemble their neighbours count for fewer", "[statistics]") {
  normal_numbers numbers{3};
  CHECK(profkit::lag1_autocorrelation(made_series(numbers, 10000, 1.0, 0.5)) == Approx(0.5).margin(0.05));
  CHECK(profkit::lag1_autocorrelation(made_series(numbers, 10000, 1.0)) == Approx(0.0).margin(0.05));
  std::vector<double> swings;
  for (int i = 0; i < 40; ++i) swings.push_back(i % 2);
  CHECK(profkit::lag1_autocorrelation(swings) == 0.0);  // more than independent is not believed
  CHECK(profkit::effective_samples(30, 0.5) == Approx(10.0));
  CHECK(profkit::effective_samples(30, 0.0) == 30.0);
  CHECK(profkit::effective_samples(30, 1.0) == 3.0);
  CHECK(profkit::effective_samples(2, 0.9) == 2.0);
}

TEST_CASE("of 100 intervals about 95 hold the mean, also where neighbours resemble each other", "[statistics]") {
  CHECK(coverage(10, 0.0) == Approx(0.96).margin(0.02));
  CHECK(coverage(30, 0.0) == Approx(0.96).margin(0.02));
  CHECK(coverage(100, 0.0) == Approx(0.95).margin(0.02));
  CHECK(coverage(30, 0.5) == Approx(0.94).margin(0.02));
  CHECK(coverage(100, 0.5) == Approx(0.945).margin(0.02));
}
