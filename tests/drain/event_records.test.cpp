// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/drain/event_records.hpp>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

using profkit::detail::event_kind;
using profkit::detail::leave_at_unknown_time;
using profkit::detail::leave_mark;

namespace {

profkit::site outer_site{"outer", __FILE__, __LINE__};
profkit::site inner_site{"inner", __FILE__, __LINE__};
profkit::site heap_site{"heap", __FILE__, __LINE__};

template <class Object>
std::uint64_t first_slot(Object const& what, event_kind kind) {
  return reinterpret_cast<std::uint64_t>(&what) | static_cast<std::uint64_t>(kind);
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

  /// Adds the events of a log.
  void take(std::vector<std::uint64_t> const& log) {
    for (std::size_t at = 0; at < log.size();) at += take(log, at, ~leave_mark);
  }

  /// Adds the event at a position of a log, and the end of its scope if that is the next event and not later than `newest`.
  /// @return the number of slots.
  std::uint64_t take(std::vector<std::uint64_t> const& log, std::size_t at, std::uint64_t newest) {
    return records_.take(&log[at], log.data() + log.size(), newest, reading_, line_);
  }

  /// Adds the events of a log one by one.
  void take_singly(std::vector<std::uint64_t> const& log) {
    for (std::size_t at = 0; at < log.size();) at += records_.take(&log[at], &log[at], ~leave_mark, reading_, line_);
  }

  [[nodiscard]] profkit::profile const& made() const { return made_.so_far(); }

 private:
  profkit::profile_builder made_;
  profkit::detail::event_records records_{made_};
  profkit::detail::thread_reading reading_;
  profkit::detail::clock_line line_{{0, 0}};
};

/// The slots of a log, without gaps between its events.
struct made_log {
  made_log& enter(profkit::site const& where, std::uint64_t ticks) { return put({first_slot(where, event_kind::enter), ticks}); }
  made_log& leave(std::uint64_t ticks) { return put({ticks | leave_mark}); }
  made_log& jump_over() { return put({leave_at_unknown_time}); }
  made_log& call(profkit::site const& what, std::uint64_t begin, std::uint64_t correlation, std::uint64_t end) {
    return put({first_slot(what, event_kind::begin_call), begin, correlation, end | leave_mark});
  }
  made_log& collective(profkit::detail::reported_collective const& what, std::uint64_t ticks, std::uint64_t sequence, std::uint64_t bytes) {
    return put({first_slot(what, event_kind::reported_collective), ticks, sequence, bytes});
  }

  std::vector<std::uint64_t> slots{};

 private:
  made_log& put(std::initializer_list<std::uint64_t> event) {
    slots.insert(slots.end(), event);
    return *this;
  }
};

std::int64_t ns(profkit::timestamp time) { return time.time_since_epoch().count(); }

}  // namespace

TEST_CASE("a scope skipped by longjmp ends after the allocation in it, and before the next event", "[drain]") {
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

TEST_CASE("events of one tick keep their order, and allocations have separate times", "[drain]") {
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

TEST_CASE("if the counter goes backwards, no scope ends before it begins", "[drain]") {
  events thread;
  thread.enter(outer_site, 700);
  thread.leave(600);
  REQUIRE(thread.made().scopes.size() == 1);
  CHECK(thread.made().scopes[0].time.duration() == std::chrono::nanoseconds{0});
}

TEST_CASE("a scope and its end, read together, give the records of two events", "[drain]") {
  static profkit::site const launch{"cuLaunchKernel", "", 0};
  made_log log;
  log.enter(outer_site, 100).enter(inner_site, 110).leave(120).enter(inner_site, 115).leave(112);  // a counter that goes backwards
  log.enter(inner_site, 130).call(launch, 140, 1, 150).enter(outer_site, 160).enter(inner_site, 170).leave(180).leave(190);
  log.leave(200).enter(inner_site, 210).jump_over().leave(220).enter(outer_site, 230).leave(240);
  events together;
  together.take(log.slots);
  events singly;
  singly.take_singly(log.slots);
  std::vector<profkit::scope_record> const found = together.made().scopes;
  std::vector<profkit::scope_record> const expected = singly.made().scopes;
  REQUIRE(found.size() == 8);
  REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(ns(found[i].time.begin) == ns(expected[i].time.begin));
    CHECK(ns(found[i].time.end) == ns(expected[i].time.end));
    CHECK(found[i].path == expected[i].path);
  }
  CHECK(together.made().paths.size() == singly.made().paths.size());
  CHECK(together.made().quality.misnested_scopes == 1);
}

TEST_CASE("the end of a scope after the part of the log that is read stays there", "[drain]") {
  made_log log;
  log.enter(outer_site, 100).leave(200);
  events thread;
  CHECK(thread.take(log.slots, 0, 199) == 2);
  CHECK(thread.made().scopes.empty());
  CHECK(thread.take(log.slots, 2, 200) == 1);
  REQUIRE(thread.made().scopes.size() == 1);
  CHECK(ns(thread.made().scopes[0].time.end) == 200);
}

TEST_CASE("a collective that follows a kernel launch immediately has its correlation, and so have those after it", "[drain]") {
  static profkit::site launch{"cuLaunchKernelEx", "", 0};
  static profkit::site copy{"cuMemcpyAsync", "", 0};
  static profkit::communicator const group{"data", 7, 1, 4, 0};
  static profkit::detail::reported_collective const what{&group, "AllReduce", "ncclFloat32", "RING", "LL128", false};
  static profkit::detail::reported_collective const captured{&group, "AllReduce", "", "", "", true};
  made_log log;
  log.enter(outer_site, 100).call(launch, 110, 11, 120);
  log.collective(what, 130, 0, 4096).collective(what, 131, 1, 8192);  // of the launch
  log.enter(inner_site, 140).leave(150);
  log.collective(what, 160, 2, 4096);                                 // no longer
  log.call(launch, 170, 12, 180).collective(captured, 190, 0, 4096);  // in a graph
  log.call(copy, 200, 13, 210).collective(what, 220, 3, 4096);        // not a kernel
  log.leave(230).collective(what, 240, 4, 4096);                      // in no scope
  events thread;
  thread.take(log.slots);
  profkit::profile const& profile = thread.made();
  REQUIRE(profile.collectives.size() == 6);
  std::uint64_t const of_launch = profile.api_calls.at(0).correlation;
  std::vector<std::uint64_t> found;
  for (profkit::collective_record const& each : profile.collectives) found.push_back(each.correlation);
  CHECK(found == std::vector<std::uint64_t>{of_launch, of_launch, 0, 0, 0, 0});
  profkit::collective_record const& second = profile.collectives[1];
  CHECK(ns(second.time.begin) == 131);
  CHECK(ns(second.time.end) == 131);
  CHECK(second.sequence == 1);
  CHECK(second.bytes == 8192);
  CHECK(profile.paths[second.path].name == "outer");
  CHECK(profile.communicators[second.communicator].id == 7);
  CHECK(profile.communicators[second.communicator].rank == 1);
  CHECK(profile.communicators[second.communicator].size == 4);
  CHECK(profile.collective_words[second.function] == "AllReduce");
  CHECK(profile.collective_words[second.datatype] == "ncclFloat32");
  CHECK(profile.collective_words[second.algorithm] == "RING");
  CHECK(profile.collective_words[second.protocol] == "LL128");
  CHECK(profile.collectives[3].is_captured);
  CHECK(profile.collective_words[profile.collectives[3].algorithm].empty());
  CHECK(profile.collectives[5].path == profkit::path_record::no_parent);
}

TEST_CASE("collectives in a row have no launch if none precedes the first of them immediately", "[drain]") {
  static profkit::site launch{"cuLaunchKernelEx", "", 0};
  static profkit::communicator const group{"data", 7, 1, 4, 0};
  static profkit::detail::reported_collective const what{&group, "AllReduce", "ncclFloat32", "RING", "LL128", false};
  made_log log;
  log.collective(what, 100, 0, 64).collective(what, 101, 1, 64);  // no collector of kernels has recorded a launch
  log.call(launch, 110, 11, 120).enter(outer_site, 130);
  log.collective(what, 140, 2, 64).collective(what, 141, 3, 64).leave(150);
  events thread;
  thread.take(log.slots);
  profkit::profile const& profile = thread.made();
  REQUIRE(profile.collectives.size() == 4);
  for (profkit::collective_record const& each : profile.collectives) CHECK(each.correlation == 0);
}

TEST_CASE("a log that continues in another chunk separates no collective from its launch", "[drain]") {
  std::uint64_t const slots[4] = {};
  profkit::site launch{"cuLaunchKernel", "", 0};
  profkit::detail::last_call call{&launch, 5, &slots[1]};
  call.continue_at(&slots[1], &slots[3]);
  CHECK(call.launch_before(&slots[3]) == 5);
  call.continue_at(&slots[2], &slots[0]);  // another event lies between
  for (std::uint64_t const& each : slots) CHECK(call.launch_before(&each) == 0);
}

TEST_CASE("steps that take turns on two threads, whose logs are read one after the other, have the times of their scopes", "[drain]") {
  profkit::detail::step_scopes scopes;
  auto const at = [](std::uint64_t ticks) { return profkit::timestamp{std::chrono::nanoseconds{ticks}}; };
  for (std::uint64_t const thread : {10U, 20U}) {
    for (std::uint64_t step = 0; step < 5; ++step) {
      std::uint64_t const begin = 100 * step + thread;
      scopes.begin(begin, at(begin));
      scopes.end({at(begin), at(begin + 5)});
    }
  }
  for (std::uint64_t step = 0; step < 5; ++step) {
    for (std::uint64_t const thread : {10U, 20U}) {
      std::uint64_t const begin = 100 * step + thread;
      auto const time = scopes.take(begin);
      REQUIRE(time);
      CHECK(time->begin == at(begin));
      CHECK(time->end == at(begin + 5));
    }
  }
}
