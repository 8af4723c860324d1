// SPDX-License-Identifier: Apache-2.0
//
// Exceptions that leave scopes and steps, and short-lived threads.
#include <profkit/scope.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/repetitions.hpp"
#include "../support/sanitizers.hpp"
#include "../support/wait_for_drain.hpp"

static_assert(std::is_nothrow_constructible_v<profkit::scope, profkit::site&, std::int64_t>);
static_assert(std::is_nothrow_constructible_v<profkit::scope, profkit::site&, profkit::work const&>);
static_assert(std::is_nothrow_constructible_v<profkit::adopting_scope, profkit::site&, profkit::scope_token>);
static_assert(std::is_nothrow_destructible_v<profkit::adopting_scope>);
static_assert(std::is_nothrow_destructible_v<profkit::step>);
static_assert(std::is_nothrow_destructible_v<profkit::session>);
static_assert(noexcept(profkit::sample_counter(std::declval<profkit::site&>(), 1.0)));
static_assert(noexcept(profkit::scope_token::current()));
static_assert(noexcept(profkit::record_allocation(std::declval<profkit::site&>(), nullptr, 1)));
static_assert(noexcept(profkit::record_release(std::declval<profkit::site&>(), nullptr)));
static_assert(noexcept(profkit::add_work({})));

namespace {

/// Its destructor opens a scope and may throw.
struct throws_at_end {
  ~throws_at_end() noexcept(false) {
    PROF_SCOPE("destructor");
    throw std::runtime_error{"from a destructor"};
  }
};

/// Nests each kind of scope; an exception leaves all of them.
[[noreturn]] void throw_through_all(profkit::scope_token token) {
  PROF_SCOPE("plain");
  PROF_SCOPE_INDEXED("indexed", 3);
  PROF_SCOPE("working", profkit::work{1.0, 2.0});
  PROF_ADOPT_SCOPE("adopting", token);
  PROF_FUNCTION();
  throw std::runtime_error{"through all"};
}

void throw_from_destructor() noexcept(false) {
  PROF_SCOPE("around the destructor");
  throws_at_end const thrower;
}

void rethrow(int times) {
  PROF_SCOPE_INDEXED("rethrows", times);
  try {
    if (times == 0) throw 7;
    rethrow(times - 1);
  } catch (...) {
    PROF_SCOPE("handler");
    throw;
  }
}

void check_closed(profkit::profile const& profile) {
  CHECK(profile.quality.open_scopes == 0);
  CHECK(profile.quality.dropped_events == 0);
}

/// Resident memory of this process in bytes.
std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long size = 0;
  unsigned long resident = 0;
  bool const was_read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
  std::fclose(file);
  return was_read ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

TEST_CASE("an exception closes scopes of every kind, from the inside out", "[exceptions]") {
  profkit::session session{plain_options()};
  profkit::scope_token token;
  {
    PROF_SCOPE("adopted");
    token = profkit::scope_token::current();
  }
  CHECK_THROWS_AS(throw_through_all(token), std::runtime_error);
  { PROF_SCOPE("after"); }
  profkit::profile const profile = session.report().profile();
  check_closed(profile);
  std::string const adopting = "plain/indexed_3/working/adopted (adopting)";
  CHECK(scope_names(profile) == std::vector<std::string>{"adopted", adopting + "/throw_through_all", adopting, "plain/indexed_3/working",
                                                         "plain/indexed_3", "plain", "after"});
  for (std::size_t i = 2; i < 6; ++i) {
    CHECK(profile.scopes[i].time.begin <= profile.scopes[i - 1].time.begin);
    CHECK(profile.scopes[i].time.end >= profile.scopes[i - 1].time.end);
  }
}

TEST_CASE("exceptions that are rethrown, or thrown by a destructor, close scopes", "[exceptions]") {
  profkit::session session{plain_options()};
  CHECK_THROWS_AS(rethrow(4), int);
  CHECK_THROWS_AS(throw_from_destructor(), std::runtime_error);
  profkit::profile const profile = session.report().profile();
  check_closed(profile);
  CHECK(profile.scopes.size() == 5 + 5 + 2);
  CHECK(count_scopes(profile, "rethrows_4/rethrows_3/rethrows_2/rethrows_1/rethrows_0/handler") == 1);
  CHECK(count_scopes(profile, "rethrows_4/handler") == 1);
  CHECK(count_scopes(profile, "around the destructor/destructor") == 1);
  CHECK(count_scopes(profile, "around the destructor") == 1);
}

TEST_CASE("scopes of several threads that are open when the session stops are counted, and their ends are harmless", "[exceptions]") {
  constexpr int threads = 4;
  std::atomic<int> open{0};
  std::atomic<bool> has_stopped{false};
  std::vector<std::thread> living;
  {
    profkit::session session{plain_options()};
    for (int i = 0; i < threads; ++i) {
      living.emplace_back([&] {
        { PROF_SCOPE("closed"); }
        PROF_SCOPE("open");
        PROF_SCOPE_INDEXED("open", 1);
        for (++open; !has_stopped;) std::this_thread::yield();
      });
    }
    while (open < threads) std::this_thread::yield();
    profkit::profile const profile = session.report().profile();
    CHECK(profile.quality.open_scopes == 2 * threads);
    CHECK(count_scopes(profile, "closed") == threads);
    CHECK(profile.scopes.size() == threads);
  }
  profkit::session next{plain_options()};
  has_stopped = true;
  for (std::thread& each : living) each.join();
  { PROF_SCOPE("next"); }
  profkit::profile const profile = next.report().profile();
  check_closed(profile);
  CHECK(scope_names(profile) == std::vector<std::string>{"next"});
}

TEST_CASE("ten thousand short-lived threads are recorded in bounded memory", "[threads]") {
  constexpr std::uint64_t rounds = repetitions(1250);
  constexpr std::uint64_t at_once = 8;
  constexpr std::uint64_t between_drains = 10;  // rounds
  profkit::session session{plain_options(0, rounds)};
  std::uint64_t const logs_before = count_logs();
  std::uint64_t const bytes_before = resident_bytes();
  std::uint64_t logs_at_once = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    profkit::step const step{session};
    std::vector<std::thread> living;
    for (std::uint64_t i = 0; i < at_once; ++i) {
      living.emplace_back([] {
        PROF_SCOPE("outer");
        for (int k = 0; k < 3; ++k) PROF_SCOPE("inner");
      });
    }
    for (std::thread& each : living) each.join();
    logs_at_once = std::max(logs_at_once, count_logs());
    if (round % between_drains == 0) wait_for_drain();
  }
  std::uint64_t const bytes = resident_bytes() - bytes_before;
  profkit::profile const profile = session.report().profile();
  check_closed(profile);
  CHECK(count_scopes(profile, "outer") == rounds * at_once);
  CHECK(count_scopes(profile, "outer/inner") == 3 * rounds * at_once);
  CHECK(profile.threads.size() == rounds * at_once + 1);
  CHECK(logs_at_once <= logs_before + between_drains * at_once + 4);
  // A log takes a few pages, a scope 24 bytes and a thread about 64 of the profile, twice as much while its list grows.
  if (!under_address_sanitizer && !under_thread_sanitizer)
    CHECK(bytes < logs_at_once * 8 * 4096 + 3 * (24 * 4 + 64) * rounds * at_once + (std::uint64_t{8} << 20U));
}
