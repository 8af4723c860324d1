// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/profile/record_fields.hpp>
#include <profkit/impl/report/trace_json.hpp>
#include <profkit/impl/session/live/captured_records.hpp>
#include <profkit/profile_builder.hpp>
#include <profkit/save_load.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "../support/made_profile.hpp"
#include "../support/parsed_report.hpp"
#include "control/captured_steps.hpp"

namespace {

using profkit_program::captured_range;

/// Steps of 100 ms or more, 200 ms apart, with records of all kinds whose numbers differ from step to step.
profkit::profile recorded_steps(captured_range const& steps) {
  profkit::profile result = made_profile();
  profkit::detail::for_each_member(result, result, [](auto& member, auto const&) {
    if constexpr (profkit::detail::is_growing<std::decay_t<decltype(member)>>) member.clear();
  });
  result.paths = made_profile().paths;
  result.threads = made_profile().threads;
  result.counter_names = {"loss"};
  result.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  result.gpu_names = {{"gemm", {}}};
  result.api_names = {"cuLaunchKernel"};
  result.allocators = {{"arena", 4096, false}};
  result.communicators = {{7, "world", 0, 2}};
  result.collective_words = {"", "AllReduce"};
  result.functions = {{"exp_loop", "program", "", "layer.cpp", 40}};
  result.launch_shapes = {{0, 132, 64, 256, 32, 0, 0, 0, 1, 8, profkit::launch_limit::warps}};
  result.graph_nodes = {{1, 1}};
  result.replayed_scopes = {{0, 1, 1}};
  result.energy_meters = {{"GPU 0", 0}, {"package-0", -1}};
  result.measured_roofs = {{profkit::precision::tf32, 4.1e14, 4.2e12, "matrix product"}};
  result.sampling = profkit::sampling_record{"perf_event_open, task clock", std::chrono::milliseconds{1}, 0, 1, 0, {}};
  for (std::uint64_t i = steps.first; i <= steps.last; ++i) {
    double const begin = 200.0 * static_cast<double>(i);
    double const length = 100.0 + static_cast<double>(i);
    auto const at = [&](double ms) { return at_ms(begin + ms); };
    result.steps.push_back({{at(0), at(length)}, i, false, 10 + i});
    result.scopes.push_back({{at(1), at(length - 1)}, 1, 0});
    result.scopes.push_back({{at(0), at(length)}, 0, 0});
    result.scopes.push_back({{at(2), at(4)}, 4, 1});
    result.scopes.push_back({{at(length + 1), at(length + 2)}, 4, 1});  // after the step
    result.gpu_scopes.push_back({1, at(1), 0, ns_of_ms(length / 2)});
    result.gpu_steps.push_back({i, 0, ns_of_ms(length - 5)});
    result.api_calls.push_back({{at(10), at(11)}, i + 1, 0, 0});
    profkit::gpu_operation_record operation;
    operation.time = {at(12), at(length - 10)};
    operation.correlation = i + 1;
    operation.grid = operation.block = {256, 1, 1};
    operation.shape = 1;
    result.gpu_operations.push_back(operation);
    result.counters.push_back({at(3), static_cast<double>(i), 0, 0});
    result.memory.push_back({"host", "resident", i, 1000 * (i + 1), 5000 * (i + 1), "measured steps"});
    result.allocations.push_back({at(5), 4096, 100 + i, 0, 0, profkit::allocation_kind::allocated});
    result.allocations.push_back({at(6), 4096, 0, 0, 0, profkit::allocation_kind::released});
    result.work.push_back({at(1), 1, {1e9 * static_cast<double>(i + 1), 1e6}});
    profkit::collective_record collective;
    collective.time = {at(50), at(60 + static_cast<double>(i))};
    collective.sequence = i;
    collective.bytes = 64 + i;
    collective.function = 1;
    result.collectives.push_back(collective);
    result.samples.push_back({at(7), 1, 0, 0, static_cast<std::uint32_t>(1'000'000 + i)});
    result.device_clocks.push_back({at(length + 1), i, 0, static_cast<std::uint32_t>(1000 + i), 1980, 0, 300'000, 60});
    auto& utilization = result.device_utilization.emplace_back(profkit::device_utilization_record{{at(-50), at(0)}, i, 0, {}});
    utilization.values[0] = static_cast<std::uint32_t>(50'000 + i);
    result.energy.push_back({at(length + 20), ns_of_ms(length), i, 1, 10 + i, 1000 * (i + 1), std::chrono::milliseconds{5}, 0});
    result.page_events.push_back({{at(20), at(21)}, 4096 + i, profkit::path_record::no_parent, 0, profkit::page_event_kind::to_device});
    result.page_events.push_back({{at(4), at(4)}, 1, 0, -1, profkit::page_event_kind::cpu_fault});
  }
  return result;
}

/// The trace without the numbers of arrows, which are positions of records.
json trace_of(profkit::profile const& profile) {
  json result = json::parse(profkit::trace_json(profile, 1000));
  for (json& each : result.at("traceEvents")) each.erase("id");
  return result;
}

}  // namespace

TEST_CASE("a capture has the figures and the trace of its steps alone, for records of all kinds", "[capture]") {
  captured_range const captured{4, 6};
  profkit::profile content = recorded_steps({0, 9});
  std::size_t number = 0;
  profkit::detail::for_each_member(content, content, [&](auto const& member, auto const&) {
    INFO("member " << number++ << " of profile: add records to recorded_steps");
    if constexpr (profkit::detail::is_growing<std::decay_t<decltype(member)>>) CHECK_FALSE(member.empty());
  });
  for (std::size_t i = 0; i < 5; ++i) content.steps[i].warmup = true;  // which has no energy, and ends in the capture
  content.energy.erase(content.energy.begin(), content.energy.begin() + 5);
  content.environment.host_use = profkit::host_use_record{std::chrono::hours{1}, std::chrono::hours{1}, {}, 1'000'000};
  content.environment.host_speed = profkit::host_speed_record{std::chrono::nanoseconds{104'000}};
  content.sampling->time = {std::chrono::hours{1}, std::chrono::hours{2}, {}};
  profkit::profile expected = recorded_steps(captured);
  expected.energy.erase(expected.energy.begin());
  expected.time = {expected.steps.front().time.begin, expected.steps.back().time.end};
  CHECK(profkit_program::keep_captured_steps(content, captured, false));
  CHECK(json::diff(json_of(content), json_of(expected)) == json::array());
  CHECK(json::diff(trace_of(content), trace_of(expected)) == json::array());
}

TEST_CASE("the energy of several steps is in a capture that has all of them", "[capture]") {
  profkit::profile content = recorded_steps({0, 9});
  content.energy.clear();
  auto const covers = [&](std::uint64_t last, std::uint64_t steps) {
    content.energy.push_back({at_ms(0), ns_of_ms(1), last, steps, 0, 1'000'000 * steps, {}, 0});
  };
  content.steps[5].is_excluded = true;
  covers(4, 2);  // 3 and 4
  covers(6, 2);  // 4 and 6
  covers(8, 3);  // 6 to 8
  CHECK(profkit_program::keep_captured_steps(content, {4, 7}, false));
  REQUIRE(content.energy.size() == 1);
  CHECK(content.energy[0].step == 6);
}

TEST_CASE("a capture without a step is known", "[capture]") {
  profkit::profile content = recorded_steps({0, 9});
  CHECK_FALSE(profkit_program::keep_captured_steps(content, {20, 30}, false));
}

TEST_CASE("samples that were taken for a capture have their processor time", "[capture]") {
  profkit::profile content = recorded_steps({0, 9});
  content.sampling->time.user = std::chrono::seconds{1};
  CHECK(profkit_program::keep_captured_steps(content, {4, 6}, true));
  CHECK(content.sampling->time.user == std::chrono::seconds{1});
}

TEST_CASE("a capture counts wrong ends and clock changes since its beginning, and its samples keep their functions", "[capture]") {
  using profkit::quality_record;
  profkit::profile_builder session;
  auto const set_ends = [&](profkit::detail::own_vector<profkit::wrong_end_record> ends, std::int64_t change) {
    session.set(&quality_record::wrong_ends, std::move(ends));
    session.set(&quality_record::clock_change, std::chrono::nanoseconds{change});
  };
  session.add(profkit::thread_record{100, "train"});
  session.position_of(profkit::function_record{"faults", "program", {}});
  set_ends({{"load", 5}, {"decode", 2}}, 1000);
  profkit::detail::captured_records records{session.so_far(), session.rest()};
  set_ends({{"load", 5}, {"decode", 3}, {"resize", 1}}, 1500);
  profkit::profile others;
  others.functions = {{"samples", "program", {}}};
  others.samples = {{at_ms(1), profkit::path_record::no_parent, 0, 0, 1000}};
  others.sampling = profkit::sampling_record{"a clock", std::chrono::milliseconds{1}, 0, 1, 0, {}};
  auto const file = records.finish(session, others);
  REQUIRE(file != nullptr);
  profkit::profile const loaded = profkit::load_journal("/proc/self/fd/" + std::to_string(file->number)).content;
  REQUIRE(loaded.quality.wrong_ends.size() == 2);
  CHECK((loaded.quality.wrong_ends[0].what == "decode" && loaded.quality.wrong_ends[0].count == 1));
  CHECK((loaded.quality.wrong_ends[1].what == "resize" && loaded.quality.wrong_ends[1].count == 1));
  CHECK(loaded.quality.clock_change.count() == 500);
  REQUIRE(loaded.samples.size() == 1);
  CHECK(loaded.functions[loaded.samples[0].function].name == "samples");
}
