// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze/analysis.hpp>
#include <profkit/analyze/analyze.hpp>
#include <profkit/profile/save_load.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/cut_windows.hpp"
#include "../support/made_full_profile.hpp"
#include "../support/made_profile.hpp"
#include "../support/random_loop_profile.hpp"
#include "../support/random_memory_profile.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/summary_bytes.hpp"

namespace {

/// With all API calls, work of some scopes (all amounts are whole numbers), adopted paths, and levels that are read at the ends of steps.
profkit::profile with_more(profkit::profile of, std::mt19937_64& random) {
  of.has_all_api_calls = true;
  for (std::uint16_t allocator = 0; allocator < of.allocators.size(); ++allocator) {
    if (!of.allocators[allocator].is_polled) continue;
    for (profkit::step_record const& each : of.steps) {
      if (random() % 2 != 0) continue;
      profkit::timestamp const time = each.time.end + std::chrono::nanoseconds{1 + random() % 17};
      of.allocations.push_back({time, 0, random() % 1000, 0, allocator, profkit::allocation_kind::level});
    }
  }
  for (profkit::scope_record const& each : of.scopes) {
    if (random() % 4 != 0) continue;
    profkit::work done;
    done.flops = static_cast<double>(random() % 1'000'000);
    done.bytes = static_cast<double>(random() % 1'000'000);
    if (random() % 3 != 0) done.backward = 2.0F;
    of.work.push_back({each.time.begin, each.path, done});
  }
  // What some scopes do is work for others.
  for (std::uint32_t path = 2; path < of.paths.size(); ++path) {
    profkit::path_record& record = of.paths[path];
    if (random() % 2 != 0 || record.is_step || record.adopted_from != profkit::path_record::no_parent) continue;
    record.adopted_from = static_cast<std::uint32_t>(random() % path);
    record.role = random() % 2 == 0 ? "backward" : "again";
  }
  return of;
}

std::vector<profkit::timestamp> random_borders(profkit::profile const& of, std::mt19937_64& random) {
  std::vector<profkit::timestamp> possible;
  if (of.steps.empty()) {
    for (profkit::scope_record const& each : of.scopes) possible.insert(possible.end(), {each.time.begin, each.time.end});
  } else {
    for (std::size_t i = 1; i < of.steps.size(); ++i) possible.insert(possible.end(), {of.steps[i - 1].time.end, of.steps[i].time.begin});
    possible.push_back(of.steps.back().time.end);
  }
  std::vector<profkit::timestamp> result;
  std::uint64_t const rarity = 1 + random() % 5;
  for (profkit::timestamp const each : possible) {
    if (random() % rarity == 0) result.push_back(each);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  if (result.size() > 40) result.resize(40);
  return result;
}

profkit::summary merged_at_random(std::vector<profkit::window> windows, std::mt19937_64& random) {
  std::shuffle(windows.begin(), windows.end(), random);
  std::vector<profkit::analysis> parts;
  for (profkit::window const& each : windows) {
    if (parts.empty() || random() % 2 == 0) parts.emplace_back();
    parts[random() % parts.size()].add(each);
  }
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    parts[0].merge(parts.back());
    parts.pop_back();
  }
  return parts[0].finish();
}

void check_cuts(profkit::profile const& whole, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  profkit::profile const complete = with_more(whole, random);
  profkit::summary const expected = profkit::analyze(complete);
  for (int round = 0; round < 4; ++round) {
    std::vector<profkit::window> windows = cut_windows(complete, random_borders(complete, random));
    CHECK((bytes_of(merged_at_random(std::move(windows), random)) == bytes_of(expected)));
  }
}

}  // namespace

TEST_CASE("any cut into windows and any order of merging give the summary of the whole profile", "[analysis]") {
  check_cuts(made_profile(), 1);
  check_cuts(profile_with_everything(), 2);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    check_cuts(make_random_step_profile(seed), seed);
    check_cuts(make_random_loop_profile(seed), seed);
    check_cuts(make_random_memory_profile(seed), seed);
    profkit::profile without_steps = make_random_step_profile(seed);
    without_steps.steps.clear();
    check_cuts(without_steps, seed);
    without_steps = make_random_memory_profile(seed);
    without_steps.steps.clear();
    check_cuts(without_steps, seed);
  }
  for (char const* const name : {"small-128-train-fp32", "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    profkit::profile const recorded = profkit::load(std::string{TEST_DATA "/"} + name + ".profile");
    check_cuts(recorded, 5);
  }
}

TEST_CASE("a long run cut into windows has the same history as the whole run", "[analysis]") {
  // More steps than the history has windows, warm-up first and some of them excluded.
  profkit::profile whole;
  whole.paths = {step_path()};
  whole.threads = {{100, "train"}};
  for (std::uint64_t i = 0; i < 1500; ++i) {
    double const begin = static_cast<double>(i) * 2.0;
    whole.steps.push_back({{at_ms(begin), at_ms(begin + 1.0)}, i, i < 7, 1, 0.0, false, i % 11 == 8});
    whole.scopes.push_back({whole.steps.back().time, 0, 0});
  }
  whole.time = {whole.steps.front().time.begin, whole.steps.back().time.end};
  profkit::summary const expected = profkit::analyze(whole);
  CHECK(expected.trend.windows.size() > 256);
  std::mt19937_64 random{3};
  for (int round = 0; round < 4; ++round) {
    std::vector<profkit::window> windows = cut_windows(whole, random_borders(whole, random));
    CHECK((bytes_of(merged_at_random(std::move(windows), random)) == bytes_of(expected)));
  }
}

TEST_CASE("releases of unknown pieces before the first step count, in whatever order windows come", "[analysis]") {
  profkit::profile whole;
  whole.paths = {step_path()};
  whole.threads = {{100, "train"}};
  whole.allocators = {{"pool", 1000, false}};
  whole.steps = {{{at_ms(10), at_ms(20)}, 0, false, 1}};
  whole.scopes = {{whole.steps[0].time, 0, 0}};
  whole.allocations = {{at_ms(1), 0x10, 0, 0, 0, profkit::allocation_kind::released},
                       {at_ms(2), 0x20, 100, 0, 0, profkit::allocation_kind::allocated},
                       {at_ms(3), 0x20, 100, 0, 0, profkit::allocation_kind::allocated},
                       {at_ms(12), 0x30, 0, 0, 0, profkit::allocation_kind::released}};
  profkit::summary const expected = profkit::analyze(whole);
  REQUIRE(expected.allocators.size() == 1);
  CHECK(expected.allocators[0].unknown_releases == 2);
  CHECK(expected.allocators[0].reused_addresses == 1);
  std::vector<profkit::window> windows = cut_windows(whole, {at_ms(5)});
  REQUIRE(windows.size() == 2);
  windows[0].frame.has_steps = false;  // when it was added, nobody knew that there would be steps
  for (bool const is_late : {false, true}) {
    profkit::analysis parts[2];
    parts[0].add(windows[is_late ? 1 : 0]);
    parts[1].add(windows[is_late ? 0 : 1]);
    parts[0].merge(parts[1]);
    profkit::summary const merged = parts[0].finish();
    REQUIRE(merged.allocators.size() == 1);
    CHECK(merged.allocators[0].unknown_releases == 2);
    CHECK(merged.allocators[0].reused_addresses == 1);
    CHECK(merged.allocators[0].last_bytes == expected.allocators[0].last_bytes);
  }
}

TEST_CASE("operations of a window without scopes count beside those of later windows", "[analysis]") {
  profkit::window first;
  first.frame.own = {profkit::timestamp::min(), at_ms(100)};
  first.records.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  first.records.gpu_names = {{"gemm", {}}};
  first.records.gpu_operations.resize(1);
  first.records.gpu_operations[0].time = {at_ms(10), at_ms(20)};
  profkit::window second = first;
  second.frame.own = {at_ms(100), profkit::timestamp::max()};
  second.records.paths = {{profkit::path_record::no_parent, "work", {}, "train.cpp", 1}};
  second.records.threads = {{100, "train"}};
  second.records.scopes = {{{at_ms(110), at_ms(120)}, 0, 0}};
  second.records.gpu_operations[0].time = {at_ms(112), at_ms(115)};
  profkit::analysis both;
  both.add(first);
  both.add(second);
  REQUIRE(both.finish().gpu);
  CHECK(both.finish().gpu->all.operations == 2);
  CHECK(both.finish().gpu->all.busy.count() == 13.0);
  CHECK(both.finish().scopes_recorded == 1);
}
