// SPDX-License-Identifier: Apache-2.0
//
// What the library calls on threads of the program, and what it does on its own threads, is not recorded.
#include <profkit/impl/record/memory_poll.hpp>
#include <profkit/impl/record/scope_token.hpp>
#include <profkit/memory_source.hpp>
#include <profkit/scope.hpp>

#include <csetjmp>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

profkit::site heap{"heap", __FILE__, __LINE__};
profkit::site rest{"rest", __FILE__, __LINE__};

/// Uses everything that records. Each scope may call this function again.
void record_everything() {
  PROF_SCOPE("inner");
  PROF_SCOPE_INDEXED("indexed", 7);
  PROF_COUNTER("counter", 1.0);
  PROF_ADOPT_SCOPE("role", profkit::scope_token::current());
  static profkit::site with_work{"with work", __FILE__, __LINE__};
  profkit::scope const scope{with_work, profkit::work{1.0, 2.0}};
  profkit::add_work({1.0, 2.0});
  static profkit::communicator group{"group", 1, 0, 1};
  PROF_SCOPE("sum", profkit::collective{"all_reduce", group, 8});
  profkit::record_allocation(heap, &group, 8);
  profkit::record_release(heap, &group, 8);
  profkit::set_default_scope(rest, profkit::scope_token::current());
}

std::atomic<std::uint64_t> listener_calls{0};

std::uint64_t usage() noexcept {
  ++listener_calls;
  record_everything();
  return 4096;
}

/// A source whose author has instrumented all its functions.
struct instrumented_source final : profkit::memory_source {
  [[nodiscard]] std::string_view name() const noexcept override { return "instrumented"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override { return {{"allocated", usage(), {}, {}}}; }
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override {
    record_everything();
    static profkit::site source{"instrumented", __FILE__, __LINE__};
    return {&source, &usage};
  }
};

void on_change() noexcept {
  ++listener_calls;
  record_everything();
}

void check_only_work(profkit::profile const& profile, std::size_t scopes) {
  for (char const* name : {"step/work/inner", "step/inner", "step/work/inner/indexed_7"}) CHECK(count_scopes(profile, name) == 0);
  CHECK(count_scopes(profile, "step/work") == scopes);
  CHECK(profile.counters.empty());
  CHECK(profile.collectives.empty());
  CHECK(profile.work.empty());
  CHECK(profile.quality.dropped_events == 0);
  CHECK(profile.quality.unmatched_ends == 0);
  for (profkit::thread_record const& each : profile.threads) CHECK(each.default_path == profkit::path_record::no_parent);
}

}  // namespace

TEST_CASE("a scope in a listener calls no listener and is not recorded", "[quiet]") {
  profkit::session session{plain_options(0, 10)};
  listener_calls = 0;
  {
    profkit::scope_listener const listener{on_change};
    REQUIRE(listener.is_attached());
    for (profkit::step step : session) {
      for (int i = 0; i < 5; ++i) PROF_SCOPE("work");
    }
    CHECK(listener_calls == 10 * 2 * (1 + 5));
  }
  profkit::profile const profile = session.report().profile();
  check_only_work(profile, 50);
  CHECK(profile.scopes.size() == 60);
  CHECK(profile.allocations.empty());
}

TEST_CASE("a scope in a polled allocator polls no allocator and is not recorded, on any thread", "[quiet]") {
  profkit::options options = plain_options(0, 10);
  options.memory_at_scopes = true;
  profkit::session session{options};
  session.collect(instrumented_source{});
  for (profkit::step step : session) {
    PROF_SCOPE("work");
    std::thread{[] { PROF_SCOPE("elsewhere"); }}.join();
  }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "elsewhere") == 10);
  CHECK(count_scopes(profile, "elsewhere/inner") == 0);
  CHECK(count_scopes(profile, "step/work/inner") == 0);
  CHECK(count_scopes(profile, "step/work") == 10);
  std::size_t polled = 0;
  for (profkit::allocation_record const& each : profile.allocations) polled += each.kind == profkit::allocation_kind::usage ? 1 : 0;
  // At both ends of each step, of each scope in it, of each scope of the other thread, and of the five scopes of `read` after each step.
  CHECK(polled == 10 * 2 * (1 + 1 + 1 + 5));
  CHECK(profile.quality.dropped_events == 0);
}

TEST_CASE("a listener and polled allocators together do not call each other", "[quiet]") {
  profkit::options options = plain_options(0, 3);
  options.memory_at_scopes = true;
  profkit::session session{options};
  profkit::scope_listener const listener{on_change};
  session.collect(instrumented_source{});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(count_scopes(session.report().profile(), "step/work") == 3);
}

TEST_CASE("a listener without a session may open scopes", "[quiet]") {
  listener_calls = 0;
  profkit::scope_listener const listener{on_change};
  { PROF_SCOPE("work"); }
  std::thread{[] { PROF_SCOPE("elsewhere"); }}.join();
  CHECK(listener_calls == 4);
}

TEST_CASE("a collector's work on the session's thread is not recorded", "[quiet]") {
  struct recording_collector final : profkit::collector {
    [[nodiscard]] std::string_view name() const noexcept override { return "recording"; }
    void drain(profkit::profile_builder&, bool) override {
      if (step_thread != std::this_thread::get_id()) record_everything();
    }
    std::thread::id step_thread = std::this_thread::get_id();
  };
  profkit::session session{plain_options(0, 5)};
  session.collect(recording_collector{});
  for (profkit::step step : session) std::this_thread::sleep_for(std::chrono::milliseconds{15});
  profkit::profile const profile = session.report().profile();
  CHECK(profile.scopes.size() == 5);
  CHECK(profile.allocations.empty());
}

TEST_CASE("a thread that jumps out of a quiet block records again", "[quiet]") {
  static std::jmp_buf before;
  profkit::session session{plain_options(0, 1)};
  profkit::scope_listener const listener{[]() noexcept {
    if (++listener_calls == 1) std::longjmp(before, 1);
  }};
  listener_calls = 0;
  if (setjmp(before) == 0) {
    PROF_SCOPE("never begun");
  }
  { PROF_SCOPE("after"); }
  CHECK(listener_calls == 3);
  CHECK(scope_names(session.report().profile()) == std::vector<std::string>{"after"});
}
