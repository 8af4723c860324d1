// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/trend.hpp>

#include "../support/made_series.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

/// Values around 100 with a spread of 2.
struct level_scenario {
  char const* name;
  double autocorrelation;
  double drift;      ///< from the first value to the last
  bool has_outlier;  ///< with four times the mean at one third
  int min_found;     ///< the share of 100 series of 100 values with a change of 10 % in the middle that are located within 2 values
  int min_found_1000;
};

std::vector<double> made_levels(normal_numbers& numbers, level_scenario const& like, std::size_t count, double change) {
  std::vector<double> result = made_series(numbers, count, 2.0, like.autocorrelation);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] += like.drift * static_cast<double>(i) / static_cast<double>(count);
    if (i >= count / 2) result[i] += change;
  }
  if (like.has_outlier) result[count / 3] += 300.0;
  return result;
}

}  // namespace

TEST_CASE("a level change is found at its place, and none is found in noise alone", "[level_change]") {
  if (repeats_less) SKIP("only many numbers");
  // The rates of docs/statistics.md, minus three standard errors.
  for (level_scenario const& like :
       {level_scenario{"independent", 0.0, 0.0, false, 95, 95}, level_scenario{"AR(0.6)", 0.6, 0.0, false, 92, 95},
        level_scenario{"AR(0.9)", 0.9, 0.0, false, 87, 92}, level_scenario{"drift", 0.0, 10.0, false, 88, 95},
        level_scenario{"outlier", 0.0, 0.0, true, 92, 95}}) {
    for (std::size_t const count : {std::size_t{100}, std::size_t{1000}}) {
      INFO(like.name << ", " << count << " values");
      normal_numbers numbers{count};
      constexpr int series = 100;
      int false_alarms = 0;
      int found = 0;
      for (int i = 0; i < series; ++i) {
        if (profkit::find_level_change(made_levels(numbers, like, count, 0.0))) ++false_alarms;
        auto const change = profkit::find_level_change(made_levels(numbers, like, count, 10.0));
        if (change && change->at + 2 >= count / 2 && change->at <= count / 2 + 2) ++found;
      }
      CHECK(false_alarms <= 5);
      CHECK(found >= (count == 100 ? like.min_found : like.min_found_1000));
    }
  }
}

TEST_CASE("the last of several levels is reported, with the level before it", "[level_change]") {
  normal_numbers numbers{4};
  std::vector<double> values = made_series(numbers, 600, 1.0);
  for (std::size_t i = 200; i < 400; ++i) values[i] += 20.0;  // and back
  auto const change = profkit::find_level_change(values);
  REQUIRE(change);
  CHECK(change->at == 400);
  CHECK(change->before == Approx(120.0).epsilon(0.005));
  CHECK(change->after == Approx(100.0).epsilon(0.005));
  CHECK(change->p_value < 0.0005);
}

TEST_CASE("a change of less than 2 %, or in too few values, is no level change", "[level_change]") {
  std::vector<double> values(200, 100.0);
  for (std::size_t i = 100; i < 200; ++i) values[i] = 101.9;
  CHECK_FALSE(profkit::find_level_change(values));
  for (std::size_t i = 100; i < 200; ++i) values[i] = 102.1;
  REQUIRE(profkit::find_level_change(values));
  CHECK(profkit::find_level_change(values)->at == 100);
  CHECK_FALSE(profkit::find_level_change({values.begin() + 91, values.begin() + 110}));
  CHECK(profkit::find_level_change({values.begin() + 90, values.begin() + 110}));
  CHECK_FALSE(profkit::find_level_change({}));
}
