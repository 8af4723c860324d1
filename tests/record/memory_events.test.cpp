// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/impl/record/memory_poll.hpp>
#include <profkit/scope.hpp>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

profkit::site pool{"pool", __FILE__, __LINE__};

/// An address that represents a block.
void const* piece(std::uint64_t number) { return reinterpret_cast<void const*>(number * 4096U); }

profkit::scope_memory_summary memory_in(profkit::summary const& summary, std::string const& path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  REQUIRE(row != nullptr);
  REQUIRE(row->memory.size() == 1);
  return row->memory[0];
}

/// A usage that the test sets.
class tank final : public profkit::memory_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "tank"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override { return {{"level", level, std::nullopt, {}}}; }
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override {
    static profkit::site source{"tank", __FILE__, __LINE__};
    return {&source, []() noexcept { return level.load(); }};
  }
  inline static std::atomic<std::uint64_t> level{0};
};

profkit::options polling_options(std::uint64_t warmup, std::uint64_t measured) {
  profkit::options result = plain_options(warmup, measured);
  result.memory_at_scopes = true;
  return result;
}

}  // namespace

TEST_CASE("allocations are charged to the scopes of the calling thread", "[memory]") {
  profkit::session session{plain_options(1, 3)};
  for (profkit::step step : session) {
    std::uint64_t const first = 100 * step.index();
    profkit::record_allocation(pool, piece(first + 1), 10);
    {
      PROF_SCOPE("forward");
      profkit::record_allocation(pool, piece(first + 2), 200);
      {
        PROF_SCOPE("attention");
        profkit::record_allocation(pool, piece(first + 3), 3000);
        profkit::record_release(pool, piece(first + 3));
        profkit::record_allocation(pool, piece(first + 4), 40);
      }
      // Allocated here and released on other threads, one of them while the scope is open.
      std::thread{[first] {
        PROF_SCOPE("other");
        profkit::record_release(pool, piece(first + 2));
        profkit::record_allocation(pool, piece(first + 5), 50'000);
      }}.join();
    }
    profkit::record_release(pool, piece(first + 4));
    profkit::record_release(pool, piece(first + 5));
  }
  profkit::report const report = session.report();
  CHECK(report.profile().allocations.size() == 4 * 9);
  CHECK(report.profile().quality.dropped_events == 0);
  profkit::summary const& summary = report.summary();
  profkit::scope_memory_summary const forward = memory_in(summary, "step/forward");
  CHECK(forward.source == "pool");
  CHECK_FALSE(forward.is_polled);
  CHECK(forward.peak_bytes == 3200);
  CHECK(forward.own_peak_bytes == 200);
  CHECK(forward.retained_bytes == 3 * 40);
  CHECK(forward.own_retained_bytes == 0);
  CHECK(forward.allocated_bytes == 3U * 3240U);
  CHECK(forward.own_allocated_bytes == 3U * 200U);
  CHECK(forward.allocations == 3U * 3U);
  // Each step retains 10 bytes, including the warm-up.
  CHECK(forward.wide_peak_bytes == 4 * 10 + 50'040);
  profkit::scope_memory_summary const attention = memory_in(summary, "step/forward/attention");
  CHECK(attention.peak_bytes == 3000);
  CHECK(attention.retained_bytes == 3 * 40);
  CHECK(memory_in(summary, "step").peak_bytes == 3210);
  CHECK(memory_in(summary, "step").retained_bytes == 3 * 10);
  CHECK(memory_in(summary, "other").peak_bytes == 50'000);
  CHECK(memory_in(summary, "other").retained_bytes == 3 * 50'000);
  REQUIRE(summary.allocators.size() == 1);
  CHECK(summary.allocators[0].first_bytes == 10);
  CHECK(summary.allocators[0].last_bytes == 40);
  CHECK(summary.allocators[0].max_bytes == 50'080);
  CHECK(summary.allocators[0].outside_change_bytes == 0);
  CHECK(summary.allocators[0].unknown_releases == 0);
  CHECK(summary.allocators[0].reused_addresses == 0);
}

TEST_CASE("without a session nothing is recorded, and a session does not record earlier allocations", "[memory]") {
  profkit::record_allocation(pool, piece(1), 10);
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) profkit::record_release(pool, piece(1), 10);
  profkit::report const report = session.report();
  CHECK(report.profile().allocations.size() == 1);
  CHECK(report.summary().allocators.at(0).unknown_releases == 1);
  profkit::record_allocation(pool, piece(2), 10);
  profkit::session second{plain_options(0, 1)};
  for (profkit::step step : second) PROF_SCOPE("work");
  CHECK(second.report().profile().allocations.empty());
  CHECK(second.report().summary().allocators.empty());
}

TEST_CASE("with memory=scopes a source is read at both ends of every scope", "[memory]") {
  tank::level = 1000;
  profkit::session session{polling_options(1, 2)};
  session.collect(tank{});
  for (profkit::step step : session) {
    PROF_SCOPE("forward");
    tank::level += 5;
    {
      PROF_SCOPE("attention");
      tank::level += 30;
    }
    tank::level -= 15;
  }
  profkit::summary const summary = session.report().summary();
  profkit::scope_memory_summary const forward = memory_in(summary, "step/forward");
  CHECK(forward.source == "tank");
  CHECK(forward.is_polled);
  CHECK(forward.peak_bytes == 35);
  CHECK(forward.retained_bytes == 2 * 20);
  CHECK(forward.own_peak_bytes == 5);
  CHECK(forward.own_retained_bytes == 2 * -10);
  CHECK(forward.wide_peak_bytes == 1000 + 2 * 20 + 35);
  CHECK(memory_in(summary, "step/forward/attention").retained_bytes == 2 * 30);
  CHECK(memory_in(summary, "step").retained_bytes == 2 * 20);
  REQUIRE(summary.allocators.size() == 1);
  CHECK(summary.allocators[0].first_bytes == 1020);
  CHECK(summary.allocators[0].last_bytes == 1060);
  CHECK(summary.allocators[0].outside_change_bytes == 0);
}

TEST_CASE("usage that changes after the last inner scope counts for the step, and is not lost between steps", "[memory]") {
  tank::level = 0;
  profkit::session session{polling_options(0, 3)};
  session.collect(tank{});
  for (profkit::step step : session) {
    { PROF_SCOPE("work"); }
    tank::level += 10;
  }
  profkit::summary const summary = session.report().summary();
  CHECK(memory_in(summary, "step").own_retained_bytes == 30);
  CHECK(memory_in(summary, "step").own_change_bytes == 30);
  CHECK(summary.allocators.at(0).between_steps_change_bytes == 0);
}

TEST_CASE("without memory=scopes no source is read at scopes", "[memory]") {
  profkit::session session{plain_options(0, 1)};
  session.collect(tank{});
  for (profkit::step step : session) PROF_SCOPE("work");
  CHECK(session.report().profile().allocations.empty());
  CHECK(session.report().summary().allocators.empty());
}

TEST_CASE("a scope that touches new pages of the host retains them", "[memory]") {
  constexpr std::size_t bytes = 64U << 20U;
  profkit::session session{polling_options(0, 1)};
  session.collect(profkit::host_memory());
  std::unique_ptr<char[]> block;
  for (profkit::step step : session) {
    PROF_SCOPE("load");
    {
      PROF_SCOPE("touch");
      block.reset(new char[bytes]);
      std::memset(block.get(), 1, bytes);
    }
    { PROF_SCOPE("nothing"); }
  }
  CHECK(block[bytes / 2] == 1);
  profkit::summary const summary = session.report().summary();
  profkit::scope_memory_summary const touch = memory_in(summary, "step/load/touch");
  CHECK(touch.source == "host");
  CHECK(touch.is_polled);
  CHECK(touch.retained_bytes >= static_cast<std::int64_t>(bytes * 9 / 10));
  CHECK(touch.peak_bytes >= bytes * 9 / 10);
  CHECK(memory_in(summary, "step/load").retained_bytes >= static_cast<std::int64_t>(bytes * 9 / 10));
  CHECK(memory_in(summary, "step/load/nothing").retained_bytes < static_cast<std::int64_t>(bytes / 2));
  CHECK(memory_in(summary, "step").wide_peak_bytes > bytes);
}
