// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/analysis.hpp>
#include <profkit/save_load.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/cut_windows.hpp"
#include "../support/made_profile.hpp"
#include "../support/random_cut.hpp"
#include "../support/random_profiles.hpp"
#include "../support/repetitions.hpp"
#include "../support/summary_bytes.hpp"

namespace {

profkit::summary sum_of(std::vector<profkit::window> const& windows) {
  profkit::analysis result;
  for (profkit::window const& each : windows) result.add(each);
  return result.finish();
}

void check_cuts(profkit::profile const& whole, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  profkit::profile const complete = with_more(whole, random);
  profkit::summary const expected = profkit::analyze(complete);
  for (std::uint64_t round = 0; round < repetitions(4); ++round) {
    CHECK((bytes_of(sum_of(cut_windows(complete, random_borders(complete, random)))) == bytes_of(expected)));
  }
}

}  // namespace

TEST_CASE("any cut into windows gives the summary of the whole profile", "[analysis]") {
  for_each_made_profile(30, check_cuts);
  for (char const* const name : {"small-128-train-fp32", "small-512-fwd-fp32", "tiny-128-train-bf16"}) {
    INFO(name);
    profkit::profile const recorded = profkit::load(std::string{TEST_DATA "/"} + name + ".profile");
    check_cuts(recorded, 5);
  }
  check_cuts(profkit::load(TEST_RANKS "/slowhost/rank1.profile"), 5);
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
    CHECK((bytes_of(sum_of(cut_windows(whole, random_borders(whole, random)))) == bytes_of(expected)));
  }
}

TEST_CASE("releases of unknown blocks before the first step count", "[analysis]") {
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
  windows[0].frame.has_steps = false;  // it was added before the first step
  profkit::summary const figures = sum_of(windows);
  REQUIRE(figures.allocators.size() == 1);
  CHECK(figures.allocators[0].unknown_releases == 2);
  CHECK(figures.allocators[0].reused_addresses == 1);
  CHECK(figures.allocators[0].last_bytes == expected.allocators[0].last_bytes);
}

TEST_CASE("a window that begins before the end of the previous one is refused", "[analysis]") {
  profkit::window first;
  first.frame.own = {at_ms(0), at_ms(100)};
  profkit::window second;
  second.frame.own = {at_ms(99), at_ms(200)};
  profkit::analysis both;
  CHECK(both.until() == profkit::timestamp::min());
  both.add(first);
  CHECK(both.until() == at_ms(100));
  CHECK_THROWS_MATCHES(both.add(second), profkit::error, Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("time order")));
  second.frame.own.begin = at_ms(100);
  both.add(second);
  CHECK(both.until() == at_ms(200));
}

TEST_CASE("operations of a window without scopes count together with those of later windows", "[analysis]") {
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

TEST_CASE("scopes of a window without kernels have no kernel time if an earlier window has kernels", "[analysis]") {
  profkit::window with;
  with.frame.own = {profkit::timestamp::min(), at_ms(100)};
  with.records.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  profkit::window without;
  without.frame.own = {at_ms(100), profkit::timestamp::max()};
  without.records.threads = {{100, "train"}};
  for (char const* const name : {"a", "b", "c"}) {
    auto const path = static_cast<std::uint32_t>(without.records.paths.size());
    without.records.paths.push_back({profkit::path_record::no_parent, name, {}, "train.cpp", 1});
    without.records.scopes.push_back({{at_ms(100 + path * 10.0), at_ms(100 + path * 10.0 + 5.0)}, path, 0});
  }
  profkit::summary const figures = sum_of({with, without});
  REQUIRE(figures.names.size() == 3);
  for (profkit::scope_name_summary const& each : figures.names) {
    REQUIRE(each.gpu);
    CHECK(each.gpu->kernel_self.count() == 0.0);
  }
}
