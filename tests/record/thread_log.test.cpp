// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/thread_registry.hpp>
#include <profkit/scope.hpp>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/nested_scopes.hpp"
#include "../support/profile_of.hpp"
#include "../support/wait_for_drain.hpp"

namespace {

void nest(int depth) {
  PROF_SCOPE("level");
  if (depth > 1) nest(depth - 1);
}

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

// Each of these tests has a different bound, so that each creates a new log.

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
  profkit::options options = plain_options();
  options.log_slots_per_thread = 1024;
  constexpr std::uint64_t opened = 5000;
  profkit::session session{options};
  // A new thread, because the log of this one may exist with another bound.
  std::thread{[] {
    for (std::uint64_t i = 0; i < opened / 2; ++i) {
      PROF_SCOPE("outer");
      PROF_SCOPE("inner");
    }
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == 340);  // a pair takes 6 slots; the last of each half stays free
  CHECK(profile.scopes.size() + profile.quality.dropped_events == opened);
  CHECK(profile.quality.open_scopes == 0);
  CHECK(count_scopes(profile, "outer/inner") == 170);
}

TEST_CASE("deep nesting beyond the capacity keeps the end of every recorded scope", "[log]") {
  profkit::options options = plain_options();
  options.log_slots_per_thread = 64;
  profkit::session session{options};
  std::thread{[] { nest(100); }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == 17);
  CHECK(profile.quality.dropped_events == 83);
  CHECK(profile.quality.open_scopes == 0);
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

TEST_CASE("a log that grows beyond a mebibyte wakes the thread that reads it", "[log]") {
  using namespace profkit::detail;
  alignas(log_alignment) static unsigned char memory[chunk_bytes];
  auto& log = *new (memory) thread_log;
  log.use(*new (memory + sizeof(thread_log)) log_chunk, 1024, 8 * slots_that_wake);
  reader_of_logs.wait({});  // forgets earlier wakes
  while (log.mapped_slots <= 4 * slots_that_wake) REQUIRE(map_chunk(log) != nullptr);
  auto const begin = std::chrono::steady_clock::now();
  reader_of_logs.wait(std::chrono::minutes{1});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{30});
}

TEST_CASE("scopes deeper than the log tracks are recorded like the others", "[log]") {
  constexpr int depth = 3 * profkit::detail::thread_log::known_depth;
  profkit::session session{plain_options()};
  nest(depth);
  nest(2);
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == depth + 2);
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.open_scopes == 0);
  std::string path = "level";
  for (int i = 1; i < depth; ++i) path += "/level";
  CHECK(count_scopes(profile, path) == 1);
  CHECK(count_scopes(profile, "level/level") == 2);
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

TEST_CASE("a log that is drained in time reuses its beginning", "[log]") {
  constexpr int steps = 8;
  constexpr int rounds = 10000;
  profkit::options options = plain_options(0, steps);
  options.log_slots_per_thread = std::uint64_t{1} << 20U;
  profkit::session session{options};
  std::uint64_t furthest = 0;
  std::thread{[&] {
    for (int step = 0; step < steps; ++step) {
      profkit::step const one{session};
      for (int i = 0; i < rounds; ++i) PROF_SCOPE("scope");
      profkit::detail::thread_log const& log = *profkit::detail::this_thread_log();
      furthest = std::max(furthest, log.mapped_slots);
      std::this_thread::sleep_for(std::chrono::milliseconds{60});  // the session's thread drains every 25 ms if it gets a processor
    }
  }}.join();
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.dropped_events == 0);
  CHECK(count_scopes(profile, "step/scope") == steps * rounds);
  // Three slots per scope. If the session drains late, the log grows, but not in every step.
  CHECK(furthest < steps * rounds * 3 * 3 / 4);
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

TEST_CASE("new threads use logs created by the session in advance, and it creates more", "[log]") {
  profkit::session session{plain_options(0, 50)};
  for (profkit::step const step : session) {
    if (step.index() == 2) break;
    std::set<void const*> before;
    for (auto const* log = __atomic_load_n(&profkit::detail::recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next)
      before.insert(log);
    std::vector<std::thread> living;  // at the same time
    std::array<void const*, 4> used{};
    std::atomic<int> recorded{0};
    for (void const*& log : used) {
      living.emplace_back([&recorded, &log] {
        { PROF_SCOPE("work"); }
        log = profkit::detail::log_of_this_thread();
        for (++recorded; recorded < 4;) std::this_thread::yield();
      });
    }
    for (std::thread& each : living) each.join();
    for (void const* const log : used) CHECK(before.count(log) == 1);
    wait_for_drain();
  }
  CHECK(count_scopes(session.report().profile(), "work") == 8);
}

TEST_CASE("short-lived threads reuse memory", "[log]") {
  profkit::session session{plain_options(0, 50)};
  std::uint64_t after_first = 0;
  std::uint64_t joined = 0;
  for (profkit::step const step : session) {
    std::thread{[] { PROF_SCOPE("short"); }}.join();
    ++joined;
    std::this_thread::sleep_for(std::chrono::milliseconds{11});
    if (step.index() == 1) after_first = count_logs();
  }
  CHECK(count_logs() <= after_first + 4);  // the session may not have read the last logs yet, and creates four in advance
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "short") == joined);
  CHECK(profile.threads.size() == joined + 1);
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

TEST_CASE("threads that start at once get a log each", "[log]") {
  constexpr std::size_t threads = 64;
  profkit::session session{plain_options()};
  std::promise<void> start;
  std::shared_future<void> const started = start.get_future().share();
  std::array<profkit::detail::thread_log*, threads> used{};
  std::vector<std::thread> living;
  for (auto*& log : used) {
    living.emplace_back([&log, started] {
      started.wait();
      { PROF_SCOPE("work"); }
      log = profkit::detail::log_of_this_thread();
    });
  }
  start.set_value();
  for (std::thread& each : living) each.join();
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "work") == threads);
  CHECK(profile.quality.dropped_events == 0);
  // A log of an ended thread may have got another owner in the meantime.
  std::sort(used.begin(), used.end());
  for (std::size_t i = 1; i < threads; ++i) {
    auto const distance = reinterpret_cast<std::uintptr_t>(used[i]) - reinterpret_cast<std::uintptr_t>(used[i - 1]);
    CHECK((distance == 0 || distance >= profkit::detail::chunk_bytes));
  }
}

TEST_CASE("a profile has the names of threads that run and of threads that have ended", "[log]") {
  profkit::session session{plain_options()};
  std::promise<void> end;
  std::promise<void> recorded;
  std::thread running{[&] {
    record_and_rename("running");
    recorded.set_value();
    end.get_future().wait();
  }};
  recorded.get_future().wait();
  std::thread{[] { record_and_rename("ended"); }}.join();
  profkit::profile const profile = session.report().profile();
  end.set_value();
  running.join();
  REQUIRE(profile.threads.size() == 2);
  for (profkit::thread_record const& each : profile.threads) {
    CAPTURE(each.name);
    CHECK_FALSE(each.name.empty());
  }
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

TEST_CASE("the number of a thread is that of the system", "[log]") {
  auto const check = [] { CHECK(profkit::detail::system_id_of_this_thread() == static_cast<std::uint64_t>(::syscall(SYS_gettid))); };
  check();
  std::thread{check}.join();
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
