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

TEST_CASE("if the logs fill up, draining continues immediately", "[pace]") {
  CHECK(drain_pace{0.01}.wait_after({milliseconds{40}, milliseconds{40}, drain_pace::backlog_slots}) == nanoseconds{0});
  CHECK(drain_pace{0.01}.wait_after({milliseconds{40}, milliseconds{40}, drain_pace::backlog_slots - 1}) == milliseconds{100});
}

TEST_CASE("the next round begins before the logs are long, if threads continue at the same rate", "[pace]") {
  drain_pace const quarter{0.25};
  // Half of the backlog arrived in 20 ms, so the whole backlog will arrive 40 ms after the beginning of this round, 30 ms after its end.
  nanoseconds const wait =
      drain_pace{0.1}.wait_after({milliseconds{10}, milliseconds{10}, drain_pace::backlog_slots / 2, milliseconds{20}});
  CHECK(wait > milliseconds{29});
  CHECK(wait < milliseconds{31});
  // The pause for its share of a core is shorter.
  CHECK(quarter.wait_after({milliseconds{5}, milliseconds{5}, drain_pace::backlog_slots / 2, milliseconds{20}}) == milliseconds{15});
  // The clock line must be long enough.
  CHECK(quarter.wait_after({milliseconds{4}, milliseconds{4}, drain_pace::backlog_slots - 1, milliseconds{2}}) ==
        drain_pace::soon_after(milliseconds{4}));
}

TEST_CASE("with a journal, records are written within 100 ms", "[pace]") {
  drain_pace const journalled{0.01, true};
  CHECK(journalled.wait_after({milliseconds{40}, milliseconds{40}, 1000}) == milliseconds{40});
  CHECK(drain_pace(1.0, true).wait_after({milliseconds{1}, milliseconds{1}, 1}) < milliseconds{10});
}
