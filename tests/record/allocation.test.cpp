// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/memory_poll.hpp>
#include <profkit/scope.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/repetitions.hpp"

namespace {

/// Counts only this thread, because the session's thread may allocate.
thread_local std::uint64_t allocations = 0;

/// While set, each allocation is a scope and is reported.
std::atomic<bool> reports_allocations{false};

profkit::site heap{"heap", __FILE__, __LINE__};

void* reported(std::size_t size) {
  PROF_SCOPE("new");
  void* const memory = std::malloc(size == 0 ? 1 : size);
  profkit::record_allocation(heap, memory, size);
  return memory;
}

void* counted(std::size_t size) {
  ++allocations;
  if (reports_allocations.load(std::memory_order_relaxed)) return reported(size);
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}

}  // namespace

// Not inlined: otherwise g++ reports a mismatch between inlined and non-inlined allocation functions.
__attribute__((noinline)) void* operator new(std::size_t size) { return counted(size); }
__attribute__((noinline)) void* operator new[](std::size_t size) { return counted(size); }
__attribute__((noinline)) void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return ++allocations, std::malloc(size); }
__attribute__((noinline)) void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
  return ++allocations, std::malloc(size);
}
__attribute__((noinline)) void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return ++allocations, std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
__attribute__((noinline)) void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  if (memory != nullptr && reports_allocations.load(std::memory_order_relaxed)) profkit::record_release(heap, memory);
  std::free(memory);
}
__attribute__((noinline)) void operator delete[](void* memory) noexcept { ::operator delete(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { ::operator delete(memory); }
__attribute__((noinline)) void operator delete[](void* memory, std::size_t) noexcept { ::operator delete(memory); }

TEST_CASE("a million scopes and other events allocate nothing, not even the first scope of a thread", "[allocation]") {
  static profkit::site pool{"pool", __FILE__, __LINE__};
  constexpr std::uint64_t rounds = repetitions(200'000);
  std::uint64_t by_first = 1;
  std::uint64_t during = 1;
  std::uint64_t by_string = 0;
  profkit::options options = plain_options();
  options.max_records = 10 * rounds;
  profkit::session session{options};
  std::thread{[&] {
    std::uint64_t const before = allocations;
    { PROF_SCOPE("first"); }
    by_first = allocations - before;
    profkit::record_allocation(pool, &session, 8);
    std::uint64_t const after_first = allocations;
    for (std::uint64_t i = 1; i < rounds; ++i) {
      profkit::scope_token token;
      {
        PROF_SCOPE("scope");
        PROF_SCOPE_INDEXED("indexed", i % 12);
        token = profkit::scope_token::current();
        if (i % 1024 == 0) PROF_COUNTER("counter", i);
      }
      PROF_ADOPT_SCOPE("role", token);
      PROF_SCOPE("work", profkit::work{1.0, 2.0});
      profkit::record_allocation(pool, reinterpret_cast<void*>(i), i);
      profkit::record_release(pool, reinterpret_cast<void*>(i));
      profkit::add_work({1.0, 0.0});
      PROF_SCOPE("last");
    }
    during = allocations - after_first;
    std::string const text(1000, 'x');
    by_string = allocations - after_first - during;
  }}.join();
  CHECK(by_first == 0);
  CHECK(during == 0);
  CHECK(by_string > 0);  // the counter works
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == 1 + 5 * (rounds - 1));
  CHECK(profile.allocations.size() == 2 * rounds - 1);
  CHECK(profile.work.size() == 2 * (rounds - 1));
  CHECK(profile.quality.dropped_events == 0);
}

TEST_CASE("an operator new that is a scope and reports allocations records those of the program, not those of the library's threads",
          "[allocation]") {
  constexpr int threads = 4;
  constexpr std::uint64_t blocks = repetitions(20'000);
  profkit::options options = plain_options(0, threads);
  options.max_records = 20 * threads * blocks;
  profkit::session session{options};
  // Scopes inside `operator new` call the listener too. It calls the operators as functions, because a compiler may omit the allocation
  // of `delete new int`.
  profkit::scope_listener const listener{[]() noexcept { ::operator delete(::operator new(1)); }};
  std::atomic<std::uint64_t> expected{0};
  for (profkit::step step : session) {
    std::thread{[&] {
      reports_allocations = true;
      std::uint64_t const before = allocations;
      {
        std::map<int, std::string> kept;
        for (std::uint64_t i = 0; i < blocks; ++i) kept[static_cast<int>(i % 100)] = std::string(100, 'x');
        // Long enough for the session's thread, which converts the records of all these scopes.
        if (step.index() == 0) std::this_thread::sleep_for(std::chrono::milliseconds{100});
      }
      reports_allocations = false;
      expected += (allocations - before) / 3;  // the listener allocates at both ends of each scope
    }}.join();
  }
  profkit::report const report = session.report();
  profkit::profile const& profile = report.profile();
  CHECK(expected >= threads * blocks);
  CHECK(count_scopes(profile, "new") == expected);
  CHECK(profile.scopes.size() == expected + threads);
  CHECK(profile.threads.size() == 1 + threads);
  std::int64_t in_use = 0;
  std::map<std::uint64_t, std::uint64_t> sizes;
  std::vector<profkit::allocation_record> changes{profile.allocations.begin(), profile.allocations.end()};
  std::stable_sort(changes.begin(), changes.end(), [](auto const& a, auto const& b) { return a.time < b.time; });  // each log has its order
  for (profkit::allocation_record const& each : changes) {
    if (each.kind == profkit::allocation_kind::allocated) in_use += static_cast<std::int64_t>(sizes[each.address] = each.bytes);
    if (each.kind == profkit::allocation_kind::released && sizes.count(each.address) != 0) {
      in_use -= static_cast<std::int64_t>(sizes[each.address]);
      sizes.erase(each.address);
    }
  }
  CHECK(profile.quality.untraced_records == 0);
  CHECK(in_use == 0);
  CHECK(profile.quality.dropped_events == 0);
}
