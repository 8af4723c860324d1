// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/testing.hpp"

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

TEST_CASE("the energy of the first meter is in the window of its last step, even if it is known later", "[trend]") {
  profkit::profile profile;
  profile.paths = {step_path()};
  for (std::uint64_t i = 0; i < 3; ++i) {
    double const begin = 10.0 * static_cast<double>(i);
    profile.steps.push_back({{at_ms(begin), at_ms(begin + 9.0)}, i, i == 0, 1});
  }
  profile.energy_meters = {{"GPU 0", 0}, {"package-0", -1}};
  profile.energy = {{at_ms(21.0), ns_of_ms(9.0), 1, 1, 1, 2'000'000, {}, 0},
                    {at_ms(29.0), ns_of_ms(9.0), 1, 1, 1, 7'000'000, {}, 1},
                    {at_ms(29.0), ns_of_ms(9.0), 2, 0, 0, 9'000'000, {}, 0, 0},  // during a scope
                    {at_ms(29.0), ns_of_ms(9.0), 2, 1, 1, 4'000'000, {}, 0}};
  profkit::run_trend_summary const trend = profkit::analyze(profile).trend;
  REQUIRE(trend.windows.size() == 2);
  CHECK(trend.windows[0].joules_per_step == 2.0);
  CHECK(trend.windows[1].joules_per_step == 4.0);
}
