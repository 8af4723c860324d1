// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/mean_interval.hpp>

#include "../support/made_series.hpp"
#include "../support/testing.hpp"

TEST_CASE("the MAD is the median distance from the median, without a scale factor", "[statistics]") {
  auto const spread = profkit::median_and_mad({9.0, 1.0, 1.0, 6.0, 2.0, 4.0, 2.0});
  REQUIRE(spread);
  CHECK(spread->median == 2.0);
  CHECK(spread->mad == 1.0);  // distances 7, 1, 1, 4, 0, 2, 0
  CHECK(profkit::median_and_mad({5.0})->mad == 0.0);
  CHECK_FALSE(profkit::median_and_mad({}));
}

TEST_CASE("a spike is an outlier, an even spread has none", "[statistics]") {
  CHECK(profkit::count_outliers({10.0, 10.2, 9.8, 10.1, 9.9, 10.0, 30.0, 10.1}) == 1);
  CHECK(profkit::count_outliers({10.0, 10.2, 9.8, 10.1, 9.9, 10.0, 10.1}) == 0);
  CHECK(profkit::count_outliers({}) == 0);
  CHECK(profkit::count_outliers({10.0, 30.0}) == 0);
}

TEST_CASE("if more than half of the values are equal, the mean distance replaces the MAD", "[statistics]") {
  std::vector<double> values(20, 10.0);
  CHECK(profkit::count_outliers(values) == 0);
  values[7] = 20.0;
  CHECK(profkit::count_outliers(values) == 1);
}

TEST_CASE("a step within 1 % of the median is no outlier, no matter how steady the others are", "[statistics]") {
  std::vector<double> const values{100.0, 100.001, 99.999, 100.002, 99.998, 100.001, 100.5};
  CHECK(profkit::count_outliers(values) == 0);
}

TEST_CASE("less than 1 % of normal noise are outliers", "[statistics]") {
  normal_numbers numbers{5};
  CHECK(profkit::count_outliers(made_series(numbers, 10000, 3.0)) < 100);
}
