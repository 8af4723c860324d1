// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/collect/built_in_collectors.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

/// An allocator of the program. Its peak can be reset; its second quantity has no peak.
class arena final : public profkit::memory_source {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "arena"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override {
    current_ += 10;
    peak_ = current_ + 5;
    return {{"used", current_, peak_, "measured steps"}, {"blocks", 3, std::nullopt, {}}};
  }
  void reset_peak() override { ++resets; }
  int resets = 0;

 private:
  std::uint64_t current_ = 0;
  std::uint64_t peak_ = 0;
};

/// Takes a millisecond.
class slow_source final : public profkit::memory_source {
 public:
  explicit slow_source(double max_share) noexcept : memory_source{max_share} {}
  [[nodiscard]] std::string_view name() const noexcept override { return "slow"; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
    return {{"used", 1, std::nullopt, {}}};
  }
};

std::uint64_t readings_of(double max_share) {
  profkit::session session{plain_options(0, 30)};
  session.collect(slow_source{max_share});
  for (profkit::step step : session) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return session.report().summary().memory.at(0).samples;
}

}  // namespace

TEST_CASE("a memory source is read for at most its share of the time", "[memory]") {
  CHECK(readings_of(1.0) > 20);
  std::uint64_t const few = readings_of(0.002);
  CHECK(few >= 1);
  CHECK(few <= 4);
}

TEST_CASE("a program's own memory source is in the report", "[memory]") {
  profkit::session session{plain_options(2, 3)};
  arena& source = session.collect(arena{});
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::summary const summary = session.report().summary();
  CHECK(source.resets == 1);
  REQUIRE(summary.memory.size() == 2);
  CHECK(summary.memory[0].source == "arena");
  CHECK(summary.memory[0].samples == 3);
  CHECK(summary.memory[0].first_bytes == 30);
  CHECK(summary.memory[0].last_bytes == 50);
  CHECK(summary.memory[0].peak_bytes == 55);
  CHECK_FALSE(summary.memory[1].peak_bytes);
}

TEST_CASE("host memory grows by the pages that a step touches", "[memory]") {
  constexpr std::uint64_t bytes = 64U << 20U;
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::host_memory{});
  std::vector<char> block;
  for (profkit::step step : session) {
    if (step.index() == 1) block.assign(bytes, 'x');
  }
  profkit::summary const summary = session.report().summary();
  REQUIRE(summary.memory.size() == 1);
  profkit::memory_summary const& resident = summary.memory[0];
  CHECK(resident.first_bytes > 0);
  CHECK(resident.last_bytes - resident.first_bytes > bytes * 9 / 10);
  CHECK(*resident.peak_bytes >= resident.max_sample_bytes * 9 / 10);
  CHECK(block.size() == bytes);
}
