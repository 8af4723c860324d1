// SPDX-License-Identifier: Apache-2.0
//
// Kernels during which the system clock is set; CUPTI uses that clock. On an imitated clock and an imitated CUPTI.
#include <profkit/cupti.hpp>
#include <profkit/impl/collect/cupti_collection.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/set_clock.hpp"
#include "fake_cupti.hpp"

using namespace std::chrono_literals;

namespace {

std::uint64_t calendar_ns() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
}

/// A kernel of 3 ms in a scope that waits for it. It begins 5 ms after the clock is read: a busy host may launch it late.
void run_kernel() {
  PROF_SCOPE("work");
  std::uint64_t const begin = calendar_ns() + 5'000'000;
  fake_cupti().kernel("_Z4workv", 1, begin, begin + 3'000'000);
  std::this_thread::sleep_for(9ms);
}

}  // namespace

TEST_CASE("after a change of the system clock, a kernel is inside the scope that waited for it, with its duration") {
  bool const all_api_calls = GENERATE(false, true);
  // Calls recorded only by CUPTI must be closer together than the change, which a busy host may not achieve.
  auto const by = GENERATE(std::chrono::nanoseconds{5s}, std::chrono::nanoseconds{-5s}, std::chrono::nanoseconds{-20ms},
                           std::chrono::nanoseconds{-24h});
  if (all_api_calls && by == -20ms) return;
  CAPTURE(by.count(), all_api_calls);
  profkit::session session{plain_options(0, 12)};
  auto& collector = session.collect(profkit::cupti_kernels({all_api_calls}));
  INFO(collector.status().reason);
  REQUIRE(collector.status().works);
  fake_cupti().takes_calendar_times = true;
  clock_is_set const undo;
  for (profkit::step step : session) {
    if (step.index() == 6) set_clock_by(by);
    run_kernel();
  }
  profkit::profile const profile = session.report().profile();
  CHECK(profile.quality.clock_changes == 1);
  CHECK(profile.quality.uncertain_operations == 0);
  CHECK(profile.quality.invalid_operations == 0);
  REQUIRE(profile.gpu_operations.size() == 12);
  std::vector<profkit::interval> scopes;
  for (profkit::scope_record const& each : profile.scopes) {
    if (profile.paths[each.path].name == "work") scopes.push_back(each.time);
  }
  REQUIRE(scopes.size() == 12);
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    CAPTURE(i);
    profkit::interval const& kernel = profile.gpu_operations[i].time;
    CHECK(kernel.duration() == 3ms);
    CHECK(scopes[i].begin <= kernel.begin);
    CHECK(kernel.end <= scopes[i].end);
  }
  for (profkit::api_call_record const& each : profile.api_calls) {
    CHECK(each.time.duration() < 1s);
    CHECK(profile.time.begin <= each.time.begin);
    CHECK(each.time.end <= profile.time.end);
  }
}

TEST_CASE("a change of the clock during a kernel does not affect its duration") {
  auto const by = GENERATE(std::chrono::nanoseconds{5s}, std::chrono::nanoseconds{-5s});
  profkit::session session{plain_options(0, 1)};
  REQUIRE(session.collect(profkit::cupti_kernels()).status().works);
  fake_cupti().takes_calendar_times = true;
  clock_is_set const undo;
  for (profkit::step step : session) {
    PROF_SCOPE("work");
    std::uint64_t const begin = calendar_ns() + 20'000'000;  // a busy host may launch it late
    std::uint64_t const end = begin + 100'000'000 + static_cast<std::uint64_t>(by.count());
    fake_cupti().kernel("_Z4workv", 1, begin, end);
    std::this_thread::sleep_for(30ms);  // on a busy host longer, but not longer than the kernel
    set_clock_by(by);
    std::this_thread::sleep_for(101ms);
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.gpu_operations.size() == 1);
  auto const error = profile.gpu_operations[0].time.duration() - 100ms;
  CHECK(std::chrono::abs(error) < 1us);
}

TEST_CASE("an operation with an ambiguous time and an unknown launch is counted") {
  profkit::detail::calendar_clock clock{{0, 0}};
  clock.look({1'000'000'000, 0});
  clock.look({1'010'000'000, -500'000'000});
  profkit::detail::cupti_placement placement{clock};
  auto const at = [](std::int64_t ns) { return profkit::timestamp{std::chrono::nanoseconds{ns}}; };
  profkit::profile_builder known;
  known.position_of_api_name("call");
  known.add(profkit::thread_record{1, "thread"});
  known.add(profkit::api_call_record{{at(1'100'000'000), at(1'100'001'000)}, 7, 0, 0});
  std::uint64_t const& uncertain = known.so_far().quality.uncertain_operations;
  auto const placed = [&](std::int64_t begin, std::int64_t end, std::uint64_t correlation) {
    profkit::gpu_operation_record operation;
    operation.time = {at(begin), at(end)};
    operation.correlation = correlation;
    placement.place(operation, known);
    return operation.time.begin;
  };
  CHECK(placed(100'000'000, 100'001'000, 1) == at(100'000'000));  // only before the clock was set
  CHECK(uncertain == 0);
  CHECK(placed(700'000'000, 700'001'000, 7) == at(1'200'000'000));  // its launch was after that
  CHECK(uncertain == 0);
  CHECK(placed(700'000'000, 700'001'000, 8) == at(700'000'000));
  CHECK(uncertain == 1);
}
