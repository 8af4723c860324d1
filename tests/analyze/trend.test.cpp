// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/verdict/trend.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_series.hpp"
#include "../support/testing.hpp"

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

TEST_CASE("the trend has the share of each step in which an operation runs", "[trend_windows]") {
  profkit::run_trend_summary const trend = profkit::analyze(made_gpu_profile()).trend;
  REQUIRE(trend.windows.size() == 2);
  CHECK(trend.windows[0].gpu_busy_share.value() == Approx(0.43));
  CHECK(trend.windows[1].gpu_busy_share.value() == Approx(0.48));
}

TEST_CASE("the trend of a profile has the measured steps, their memory and the step that changed", "[trend_windows]") {
  profkit::profile profile;
  profkit::timestamp const origin{std::chrono::seconds{1'790'000'000}};
  profile.time.begin = origin;
  profkit::timestamp begin = origin + std::chrono::seconds{2};
  constexpr std::uint64_t steps = 1000;
  for (std::uint64_t i = 0; i < steps; ++i) {
    auto const length = std::chrono::microseconds{i < 600 ? 1100 + i % 7 : 1310 + i % 7};
    profile.steps.push_back({{begin, begin + length}, i, i < 10, 0, 0.0});
    profile.steps.back().is_excluded = i == 20;
    profile.memory.push_back({"host", "resident", i, 1000 + i, {}, {}});
    begin += std::chrono::milliseconds{2};
  }
  profkit::run_trend_summary const trend = profkit::analyze(profile).trend;
  CHECK(trend.memory == std::vector<std::string>{"host resident"});
  REQUIRE(trend.windows.size() == 495);  // 989 steps
  CHECK(trend.windows[0].first_step == 10);
  CHECK(trend.windows[0].begin == std::chrono::milliseconds{2020});
  CHECK(trend.windows[0].steps == 2);
  CHECK(trend.windows[0].mean.count() == Approx(1.1035));
  CHECK(trend.windows[0].p95.count() == Approx(1.104).epsilon(0.01));
  CHECK(trend.windows[0].memory_bytes.at(0) == 1011);
  CHECK_FALSE(trend.windows[0].gpu_busy_share);
  REQUIRE(trend.change);
  CHECK(trend.change->step == 600);
  CHECK(trend.change->begin == std::chrono::milliseconds{3200});
  CHECK(trend.change->time == std::chrono::seconds{1'790'000'003} + std::chrono::milliseconds{200});
  CHECK(trend.change->before.count() == Approx(1.103).epsilon(0.001));
  CHECK(trend.change->after.count() == Approx(1.313).epsilon(0.001));
  CHECK_FALSE(trend.change->is_of_gpu);
}
