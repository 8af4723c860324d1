// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/scope.hpp>

#include <pthread.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/nested_scopes.hpp"
#include "../support/profile_of.hpp"
#include "../support/wait_for_drain.hpp"

namespace {

/// Records a scope, then gives the thread a name.
void record_and_rename(char const* name) {
  { PROF_SCOPE("work"); }
  ::pthread_setname_np(::pthread_self(), name);
}

std::set<std::string> names_of_threads(profkit::profile const& profile) {
  std::set<std::string> names;
  for (profkit::thread_record const& each : profile.threads) names.insert(each.name);
  return names;
}

}  // namespace

TEST_CASE("eight threads lose no records while the session drains", "[log]") {
  constexpr int threads = 8;
  constexpr int rounds = 20000;
  profkit::session session{plain_options(0, 1000)};
  std::atomic<int> running{threads};
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&running, thread] {
      for (int i = 0; i < rounds; ++i) {
        PROF_SCOPE_INDEXED("thread", thread);
        PROF_SCOPE("inside");
        PROF_COUNTER("round", i);
        if (i % 64 == 0) std::this_thread::yield();
      }
      --running;
    });
  }
  while (running > 0) {  // each step drains the logs that other threads write
    profkit::step const step{session};
    std::this_thread::sleep_for(std::chrono::milliseconds{11});
  }
  for (std::thread& worker : workers) worker.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  for (int thread = 0; thread < threads; ++thread) {
    std::string const name = "thread_" + std::to_string(thread);
    CHECK(count_scopes(profile, name) == rounds);
    CHECK(count_scopes(profile, name + "/inside") == rounds);
  }
  CHECK(profile.counters.size() == threads * rounds);
}

TEST_CASE("beyond the record budget, every record counts in the figures, and the steps are kept", "[log]") {
  profkit::options options = plain_options(0, 1000);
  options.max_records = 1000;
  profkit::session session{options};
  constexpr std::uint64_t steps = 40;
  constexpr std::uint64_t rounds = 25;
  for (std::uint64_t i = 0; i < steps; ++i) {
    profkit::step const step{session};
    for (std::uint64_t k = 0; k < rounds; ++k) {
      PROF_SCOPE("scope", (profkit::work{1.0, 2.0}));
      PROF_COUNTER("counter", k);
      static profkit::site allocator{"allocator", __FILE__, __LINE__};
      profkit::record_allocation(allocator, &session, 1);
    }
    if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{11});  // some steps drain, others do not
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(profile.scopes.size() + profile.work.size() + profile.counters.size() + profile.allocations.size() == 1000);
  CHECK(profile.quality.untraced_records == steps * (4 * rounds + 1) - 1000);
  CHECK(profile.quality.discarded_records == 0);
  REQUIRE(find_row(report.summary(), "step/scope") != nullptr);
  CHECK(find_row(report.summary(), "step/scope")->host.count == steps * rounds);
  CHECK(report.summary().counters.at(0).count == steps * rounds);
  CHECK(profile.steps.size() == steps);
  CHECK(report.summary().steps.host.count == steps);
}

TEST_CASE("beyond the capacity of a log, every dropped event is counted and the others are intact", "[log]") {
  auto const add_some = [] { profkit::add_work({1.0, 0.0}); };
  auto const allocate = [] {
    static profkit::site where{"heap", __FILE__, __LINE__};
    profkit::record_allocation(where, &where, 8);
  };
  struct kind {
    char const* name;
    void (*record)();
    std::size_t slots;  // of an event
    std::size_t (*count)(profkit::profile const&);
  };
  auto const scopes = [](profkit::profile const& made) { return made.scopes.size() - 1; };  // without the one around all events
  kind const kinds[] = {
      {"scope", [] { PROF_SCOPE("event"); }, 3, scopes},
      {"scope with an index", [] { PROF_SCOPE_INDEXED("event", 7); }, 4, scopes},
      {"adopting scope", [] { PROF_ADOPT_SCOPE("event", profkit::scope_token::current()); }, 4, scopes},
      {"counter", [] { PROF_COUNTER("event", 1); }, 3, [](profkit::profile const& made) { return made.counters.size(); }},
      {"work", add_some, 4, [](profkit::profile const& made) { return made.work.size(); }},
      {"allocation", allocate, 4, [](profkit::profile const& made) { return made.allocations.size(); }},
  };
  constexpr std::size_t tried = 5000;
  std::size_t slots = 1024;
  for (kind const& each : kinds) {
    INFO(each.name);
    profkit::options options = plain_options();
    options.log_slots_per_thread = ++slots;  // with another bound, a new thread gets a new log
    profkit::session session{options};
    std::thread{[&] {
      PROF_SCOPE("outer");
      for (std::size_t i = 0; i < tried; ++i) each.record();
    }}.join();
    profkit::profile const profile = session.report().profile();
    CHECK(count_scopes(profile, "outer") == 1);
    CHECK(each.count(profile) + profile.quality.dropped_events == tried);
    // The scope around them takes three slots; the last of each half may stay free. A slow loop is drained while it runs.
    CHECK(each.count(profile) + 2 >= (slots - 3) / each.slots);
    CHECK(profile.quality.open_scopes == 0);
  }
}

TEST_CASE("a full log records again after it is drained", "[log]") {
  profkit::options options = plain_options();
  options.log_slots_per_thread = 66;
  profkit::session session{options};
  std::thread{[&session] {
    for (int i = 0; i < 100; ++i) PROF_SCOPE("before");
    {
      profkit::step const step{session};
      wait_for_drain();
    }
    for (int i = 0; i < 10; ++i) PROF_SCOPE("after");
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "before") == 20);
  CHECK(count_scopes(profile, "after") == 10);
}

TEST_CASE("a recorded scope takes 24 bytes, an indexed one 32", "[log]") {
  profkit::session const session{plain_options()};
  { PROF_SCOPE("first"); }
  profkit::detail::thread_log const& log = *profkit::detail::this_thread_log();
  std::uint64_t const* const before = log.next_slot;
  for (int i = 0; i < 100; ++i) PROF_SCOPE("scope");
  std::uint64_t const* const between = log.next_slot;
  for (int i = 0; i < 100; ++i) PROF_SCOPE_INDEXED("scope", i);
  CHECK((between - before) * static_cast<std::ptrdiff_t>(sizeof(std::uint64_t)) == 100 * 24);
  CHECK((log.next_slot - between) * static_cast<std::ptrdiff_t>(sizeof(std::uint64_t)) == 100 * 32);
}

TEST_CASE("recursion may be deeper than a chunk of the log has room for ends", "[log]") {
  constexpr std::uint64_t depth = 100'000;
  profkit::session session{plain_options(0, 3)};
  for (profkit::step step : session) {
    nested_scopes deep{depth};
    PROF_COUNTER("deep", 1);
    deep.close(depth / 2);
    nested_scopes const again{depth / 2};
  }
  { PROF_SCOPE("after"); }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() + profile.quality.collapsed_scopes == 3 * (1 + depth + depth / 2) + 1);
  CHECK(profile.counters.size() == 3);
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  CHECK(profile.quality.misnested_scopes == 0);
  CHECK(count_scopes(profile, "step/level") == 3);
  CHECK(count_scopes(profile, "after") == 1);
}

TEST_CASE("leaving a deep recursion at once ends all of its scopes", "[log]") {
  constexpr std::uint64_t depth = 50'000;
  profkit::session session{plain_options()};
  for (std::uint64_t const left : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{65}, depth - 10}) {
    nested_scopes deep{depth};
    deep.leave(left);
    PROF_SCOPE("after");
  }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() + profile.quality.collapsed_scopes == 5 * (depth + 1));
  CHECK(profile.quality.misnested_scopes == 4 * depth - (1 + 63 + 64 + 65) + 10);
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  CHECK(count_scopes(profile, "after") == 1);
}

TEST_CASE("recursion beyond the capacity of a log loses the deepest scopes, and a larger log keeps them", "[log]") {
  constexpr std::uint64_t depth = 20'000;
  auto const recorded = [](std::uint64_t slots) {
    profkit::options options = plain_options();
    options.log_slots_per_thread = slots;
    profkit::session session{options};
    std::thread{[] { nested_scopes const deep{depth}; }}.join();
    profkit::profile const profile = session.report().profile();
    std::uint64_t const result = profile.scopes.size() + profile.quality.collapsed_scopes;
    CHECK(result + profile.quality.dropped_events == depth);
    CHECK(profile.quality.open_scopes == 0);
    return result;
  };
  for (std::uint64_t const slots : {140U, 200U, 1'000U, 20'000U, 40'000U}) {
    CAPTURE(slots);
    CHECK(recorded(slots) >= slots / 6);
  }
  CHECK(recorded(std::uint64_t{1} << 20U) == depth);
}

TEST_CASE("a small log that wraps around many times loses and mixes nothing", "[log]") {
  constexpr int steps = 60;
  profkit::options options = plain_options(0, steps);
  options.log_slots_per_thread = 50;
  profkit::session session{options};
  std::thread{[&] {
    for (int step = 0; step < steps; ++step) {
      profkit::step const one{session};
      PROF_SCOPE_INDEXED("outer", step % 3);
      for (int i = 0; i <= step % 4; ++i) PROF_SCOPE("inner");
      PROF_COUNTER("step", step);
      wait_for_drain();
    }
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  CHECK(count_scopes(profile, "step") == steps);
  for (int outer = 0; outer < 3; ++outer) {
    std::string const name = "step/outer_" + std::to_string(outer);
    std::size_t inner = 0;
    for (int step = outer; step < steps; step += 3) inner += static_cast<std::size_t>(step % 4 + 1);
    CHECK(count_scopes(profile, name) == steps / 3);
    CHECK(count_scopes(profile, name + "/inner") == inner);
  }
  REQUIRE(profile.counters.size() == steps);
  for (int step = 0; step < steps; ++step) CHECK(profile.counters[static_cast<std::size_t>(step)].value == step);
}

TEST_CASE("threads beyond the maximum number of logs are counted, and recorded again when logs have been read", "[log]") {
  profkit::options options = plain_options(0, 2);
  options.log_slots_per_thread = 3072;
  auto& bound = profkit::detail::max_logs;
  std::uint32_t const usual = bound;
  constexpr std::uint64_t threads = 50;
  profkit::session session{options};
  __atomic_store_n(&bound, static_cast<std::uint32_t>(count_logs()) + 5, __ATOMIC_RELAXED);  // the session's thread reads it
  for (profkit::step const step : session) {
    for (std::uint64_t i = 0; i < threads; ++i) std::thread{[] { PROF_SCOPE("short"); }}.join();
    wait_for_drain();
  }
  __atomic_store_n(&bound, usual, __ATOMIC_RELAXED);
  profkit::profile const profile = session.report().profile();
  std::size_t const recorded = count_scopes(profile, "short");
  CHECK(recorded + profile.quality.dropped_events == 2 * threads);
  CHECK(recorded >= 2 * (5 + 4));  // four logs are created in advance; more if the session reads some in the meantime
}

TEST_CASE("the name of a log's thread is the present one of a running thread and the last one of an ended thread", "[log]") {
  profkit::session session{plain_options()};
  profkit::detail::thread_log const* log = nullptr;
  std::string of_running;
  std::thread{[&] {
    record_and_rename("before the end");
    log = profkit::detail::log_of_this_thread();
    of_running = profkit::detail::name_of_thread(*log).data();
    ::pthread_setname_np(::pthread_self(), "at the end");
  }}.join();
  CHECK(of_running == "before the end");
  CHECK(std::string{profkit::detail::name_of_thread(*log).data()} == "at the end");
}

TEST_CASE("without /proc, threads have the names of their first scopes", "[log]") {
  profkit::session session{plain_options()};
  profkit::detail::can_read_names = false;
  std::thread{[] {
    ::pthread_setname_np(::pthread_self(), "at first");
    PROF_SCOPE("work");
    profkit::detail::thread_log const* const log = profkit::detail::log_of_this_thread();
    CHECK(std::string{log->thread_name} == "at first");
  }}.join();
  profkit::detail::can_read_names = true;
  CHECK(names_of_threads(session.report().profile()) == std::set<std::string>{"at first"});
}

TEST_CASE("a scope in the destructor of a thread-local object is counted, even after the log is gone", "[log]") {
  struct late {
    ~late() { PROF_SCOPE("late"); }
    void touch() const noexcept {}
  };
  profkit::session session{plain_options()};
  std::thread{[] {
    static thread_local late const object;
    object.touch();  // constructed before the thread's log, so destroyed after it
    PROF_SCOPE("early");
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "early") == 1);
  CHECK(count_scopes(profile, "late") + profile.quality.dropped_events == 1);
}
