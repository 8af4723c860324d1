// SPDX-License-Identifier: Apache-2.0
#include <profkit/drain/event_records.hpp>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

using profkit::detail::event_kind;
using profkit::detail::leave_at_unknown_time;
using profkit::detail::leave_mark;

namespace {

profkit::site outer_site{"outer", __FILE__, __LINE__};
profkit::site inner_site{"inner", __FILE__, __LINE__};
profkit::site heap_site{"heap", __FILE__, __LINE__};

std::uint64_t first_slot(profkit::site const& where, event_kind kind) {
  return reinterpret_cast<std::uint64_t>(&where) | static_cast<std::uint64_t>(kind);
}

/// The records of the events of one thread, with a clock of one tick per nanosecond.
class events {
 public:
  events() {
    line_.advance({1'000'000, 1'000'000});
    reading_.thread = made_.add(profkit::thread_record{1, "thread"});
  }

  void enter(profkit::site const& where, std::uint64_t ticks) { take({first_slot(where, event_kind::enter), ticks}); }
  void leave(std::uint64_t ticks) { take({ticks | leave_mark}); }
  void jump_over() { take({leave_at_unknown_time}); }
  void allocate(std::uint64_t ticks) { take({first_slot(heap_site, event_kind::allocated), ticks, 4096, 1}); }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }

 private:
  void take(std::vector<std::uint64_t> const& event) { records_.take(event.data(), reading_, line_); }

  profkit::profile_builder made_;
  profkit::detail::event_records records_{made_};
  profkit::detail::thread_reading reading_;
  profkit::detail::clock_line line_{{0, 0}};
};

std::int64_t ns(profkit::timestamp time) { return time.time_since_epoch().count(); }

}  // namespace

TEST_CASE("a scope that was jumped over ends after the allocation in it, and before what follows", "[drain]") {
  events thread;
  thread.enter(outer_site, 100);
  thread.enter(inner_site, 200);
  thread.allocate(300);
  thread.jump_over();
  thread.leave(400);
  REQUIRE(thread.made().scopes.size() == 2);
  REQUIRE(thread.made().allocations.size() == 1);
  profkit::scope_record const& inner = thread.made().scopes[0];
  CHECK(ns(inner.time.begin) == 200);
  CHECK(ns(thread.made().allocations[0].time) == 300);
  CHECK(ns(inner.time.end) == 301);
  CHECK(ns(thread.made().scopes[1].time.end) == 400);
  CHECK(thread.made().quality.misnested_scopes == 1);
}

TEST_CASE("events of one tick keep their order, and allocations have times of their own", "[drain]") {
  events thread;
  thread.enter(outer_site, 500);
  thread.allocate(500);
  thread.allocate(500);
  thread.enter(inner_site, 500);
  thread.leave(500);
  thread.leave(500);
  REQUIRE(thread.made().scopes.size() == 2);
  REQUIRE(thread.made().allocations.size() == 2);
  std::array<profkit::timestamp, 4> const times{thread.made().scopes[1].time.begin, thread.made().allocations[0].time,
                                                thread.made().allocations[1].time, thread.made().scopes[0].time.begin};
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i - 1] < times[i]);
  CHECK(thread.made().scopes[0].time.end <= thread.made().scopes[1].time.end);
}

TEST_CASE("a counter that goes backwards makes no scope end before it begins", "[drain]") {
  events thread;
  thread.enter(outer_site, 700);
  thread.leave(600);
  REQUIRE(thread.made().scopes.size() == 1);
  CHECK(thread.made().scopes[0].time.duration() == std::chrono::nanoseconds{0});
}
