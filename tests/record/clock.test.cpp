// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/clock.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

using namespace profkit::detail;

TEST_CASE("between two anchors the counter converts to CLOCK_MONOTONIC within a microsecond", "[clock]") {
  if (!counter_is_invariant()) SKIP("the counter of this machine is not invariant");
  struct sample {
    std::int64_t before;
    std::uint64_t ticks;
    std::int64_t after;
  };
  clock_line line{read_anchor(0)};
  std::vector<sample> samples;
  for (int i = 0; i < 500; ++i) {
    auto const before = monotonic_ns();
    std::uint64_t const ticks = counter_ticks();
    auto const after = monotonic_ns();
    samples.push_back({before, ticks, after});
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  line.advance(read_anchor(0));
  std::vector<std::int64_t> errors;
  for (sample const& each : samples) {
    std::int64_t const converted = line.convert(each.ticks).time_since_epoch().count();
    errors.push_back(std::max<std::int64_t>({each.before - converted, converted - each.after, 0}));
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors.back() < 1000);
  CHECK(errors[errors.size() / 2] < 100);
}

TEST_CASE("outside its anchors the line has the mean rate, and an anchor without elapsed time changes nothing", "[clock]") {
  clock_line line{{0, 0}};
  line.advance({1'000'000, 500'000});
  line.advance({1'000'100, 500'090});  // 10 ns of jitter in a short line
  CHECK(line.convert(1'000'100).time_since_epoch().count() == 500'090);
  CHECK(line.convert(3'000'300).time_since_epoch().count() == 1'500'270);
  CHECK(line.convert(1'000'000 - 1000).time_since_epoch().count() == 500'000 - 500);
  CHECK(line.duration(1'000'000) == std::chrono::nanoseconds{500'039});
  line.advance({1'000'100, 500'100});
  line.advance({900'000, 500'100});
  line.advance({1'000'200, 500'090});
  CHECK(line.newest().ticks == 1'000'100);
  CHECK(line.convert(1'000'100).time_since_epoch().count() == 500'090);
}

TEST_CASE("a recorded scope is between readings of CLOCK_REALTIME around it", "[clock]") {
  profkit::session session{plain_options()};
  auto const before = clock_ns(CLOCK_REALTIME);
  {
    PROF_SCOPE("sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  auto const after = clock_ns(CLOCK_REALTIME);
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.scopes.size() == 1);
  CHECK(profile.scopes[0].time.begin.time_since_epoch().count() >= before - 1000);
  CHECK(profile.scopes[0].time.end.time_since_epoch().count() <= after + 1000);
  CHECK(profile.scopes[0].time.duration() >= std::chrono::milliseconds{20});
}
