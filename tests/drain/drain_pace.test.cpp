// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/drain/log_drain.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>

using profkit::detail::drain_pace;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST_CASE("if little is recorded, the session's thread wakes up 40 times a second", "[pace]") {
  CHECK(drain_pace{0.25}.wait_after({nanoseconds{50'000}, nanoseconds{50'000}, 10}) == milliseconds{25});
  CHECK(drain_pace{0.25}.wait_after({}) == milliseconds{25});
}

TEST_CASE("draining uses at most its share of a core", "[pace]") {
  drain_pace const quarter{0.25};
  // 10 ms of work and 30 ms of rest are a quarter.
  CHECK(quarter.wait_after({milliseconds{10}, milliseconds{10}, 100'000}) == milliseconds{30});
  // A round that waited for a processor has already paused.
  CHECK(quarter.wait_after({milliseconds{30}, milliseconds{10}, 100'000}) == milliseconds{10});
  // Time of collectors counts too.
  CHECK(quarter.wait_after({milliseconds{20}, milliseconds{20}, 0}) == milliseconds{60});
  CHECK(drain_pace{1.0}.wait_after({milliseconds{10}, milliseconds{10}, 100'000}) < milliseconds{1});
}
