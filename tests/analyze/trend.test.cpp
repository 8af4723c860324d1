// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/trend.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "../support/made_series.hpp"

using Catch::Approx;

namespace {

double false_alarms(double autocorrelation) {
  constexpr int series = 1000;
  normal_numbers numbers{4};
  int alarms = 0;
  for (int i = 0; i < series; ++i) {
    if (profkit::find_trend(made_series(numbers, 30, 3.0, autocorrelation))->p_value < 0.01) ++alarms;
  }
  return alarms / static_cast<double>(series);
}

}  // namespace

TEST_CASE("a line has its own slope, and a few extreme values do not change it", "[statistics]") {
  std::vector<double> values;
  for (int i = 0; i < 31; ++i) values.push_back(100.0 + 0.5 * i);
  values[10] = 900.0;
  values[20] = 0.0;
  auto const found = profkit::find_trend(values);
  REQUIRE(found);
  CHECK(found->drift == Approx(15.0));
  CHECK(found->p_value < 1e-6);
}

TEST_CASE("a line through few values is tested as in the textbook", "[statistics]") {
  // Fewer than 8 values count as independent. The slope is 1.1, the squared distances from the line sum to 2.7, and those of 0 to 4 from
  // their mean to 10: t = 1.1 / sqrt(2.7 / 3 / 10) with 3 degrees of freedom.
  double const t = 1.1 / std::sqrt(2.7 / 30.0);
  CHECK(profkit::find_trend({1.0, 3.0, 2.0, 4.0, 6.0})->p_value == Approx(1.0 - profkit::student_share_within(t, 3.0)));
}

TEST_CASE("equal values do not drift, and fewer than four give no result", "[statistics]") {
  CHECK(profkit::find_trend(std::vector<double>(30, 7.0))->drift == 0.0);
  CHECK(profkit::find_trend(std::vector<double>(30, 7.0))->p_value == Approx(1.0));
  CHECK_FALSE(profkit::find_trend({1.0, 2.0, 3.0}));
  CHECK_FALSE(profkit::find_trend({}));
}

TEST_CASE("a long series has the drift of its blocks", "[statistics]") {
  std::vector<double> values;
  for (int i = 0; i < 10000; ++i) values.push_back(100.0 + 0.001 * i);
  CHECK(profkit::find_trend(values)->drift == Approx(10.0).epsilon(0.01));
}

TEST_CASE("noise without a trend seldom shows one, even if it is autocorrelated", "[statistics]") {
  CHECK(false_alarms(0.0) < 0.02);
  CHECK(false_alarms(0.5) < 0.03);
  CHECK(false_alarms(0.9) < 0.1);
}
