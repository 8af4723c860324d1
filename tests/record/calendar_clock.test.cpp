// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/calendar_clock.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

using namespace profkit::detail;
using profkit::timestamp;

namespace {

constexpr std::int64_t one_second = 1'000'000'000;

constexpr timestamp at(std::int64_t ns) { return timestamp{std::chrono::nanoseconds{ns}}; }

/// The calendar begins 1,000 s ahead and is read every one_second. It was set at 10.5 s.
calendar_clock set_by(std::int64_t change) {
  calendar_clock clock{{0, 1000 * one_second}};
  for (std::int64_t i = 1; i <= 10; ++i) clock.look({i * one_second, 1000 * one_second});
  for (std::int64_t i = 11; i <= 20; ++i) clock.look({i * one_second, 1000 * one_second + change});
  return clock;
}

}  // namespace

TEST_CASE("times begin with the calendar, and readings of an unchanged clock differ by less than the threshold", "[calendar]") {
  calendar_clock clock{{0, 1000 * one_second}};
  CHECK(clock.at_monotonic(7) == at(1000 * one_second + 7));
  clock.look({1, 1000 * one_second + 60});
  clock.look({2, 1000 * one_second - 60});
  CHECK(clock.changes() == 0);
  CHECK(clock.at_calendar(at(123)) == at(123 + 60));
  CHECK(clock.may_be(at(123)) == std::vector{at(123 + 60)});

  calendar_clock now;
  for (int i = 0; i < 1000; ++i) now.look();
  CHECK(now.changes() == 0);
  CHECK(now.change() == std::chrono::nanoseconds{0});
}

TEST_CASE("a reading of a calendar that was set forward is unambiguous, except close to the change", "[calendar]") {
  calendar_clock const clock = set_by(5 * one_second);
  CHECK(clock.changes() == 1);
  CHECK(clock.change() == std::chrono::seconds{5});
  CHECK(clock.may_be(at(1005 * one_second)) == std::vector{at(1005 * one_second)});
  CHECK(clock.may_be(at(1018 * one_second)) == std::vector{at(1013 * one_second)});
  CHECK(clock.may_be(at(1013 * one_second)).size() == 1);  // the clock jumped over it
  CHECK(set_by(one_second / 2).may_be(at(1010 * one_second + 3 * one_second / 4)) ==
        std::vector{at(1010 * one_second + one_second / 4), at(1010 * one_second + 3 * one_second / 4)});
}

TEST_CASE("a reading of a calendar that was set back may be ambiguous", "[calendar]") {
  calendar_clock const clock = set_by(-5 * one_second);
  CHECK(clock.change() == std::chrono::seconds{-5});
  CHECK(clock.may_be(at(1004 * one_second)) == std::vector{at(1004 * one_second)});
  CHECK(clock.may_be(at(1008 * one_second)) == std::vector{at(1008 * one_second), at(1013 * one_second)});
  CHECK(clock.may_be(at(1014 * one_second)) == std::vector{at(1019 * one_second)});
}

TEST_CASE("a reading is never converted to a future time", "[calendar]") {
  std::int64_t const now = profkit::detail::monotonic_ns();
  calendar_clock clock{{now - 20 * one_second, 0}};
  clock.look({now - 15 * one_second, 0});
  clock.look({now - 10 * one_second, -3600 * one_second});
  CHECK(clock.may_be(at(now - 16 * one_second)) == std::vector{at(now - 16 * one_second)});
}

TEST_CASE("a calendar that was set forth and back again has three stretches", "[calendar]") {
  calendar_clock clock = set_by(5 * one_second);
  for (std::int64_t i = 21; i <= 30; ++i) clock.look({i * one_second, 1000 * one_second});
  CHECK(clock.changes() == 2);
  CHECK(clock.change() == std::chrono::nanoseconds{0});
  CHECK(clock.may_be(at(1005 * one_second)) == std::vector{at(1005 * one_second)});
  CHECK(clock.may_be(at(1024 * one_second)) == std::vector{at(1019 * one_second), at(1024 * one_second)});
  CHECK(clock.may_be(at(1029 * one_second)) == std::vector{at(1029 * one_second)});
}
