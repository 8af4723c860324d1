// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/time/quantiles.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "../support/made_path.hpp"
#include "../support/made_profile.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/repetitions.hpp"

namespace {

constexpr std::uint32_t none = profkit::attribution::none;

/// Records with times in ms, each operation right after its launch.
struct launch_builder {
  profkit::profile profile;

  std::uint32_t path(std::uint32_t parent, char const* name) {
    profile.paths.push_back({parent, name, {}, "made.cpp", 1});
    profile.paths.back().is_step = parent == profkit::path_record::no_parent && profile.paths.back().name == "step";
    return static_cast<std::uint32_t>(profile.paths.size() - 1);
  }
  void scope(std::uint32_t path, std::uint32_t thread, double from, double to) {
    profile.scopes.push_back({{at_ms(from), at_ms(to)}, path, thread});
  }
  void call(std::uint64_t correlation, std::uint32_t thread, double from, double to) {
    profile.api_calls.push_back({{at_ms(from), at_ms(to)}, correlation, 0, thread});
  }
  void operation(std::uint64_t correlation, double from) {
    profkit::gpu_operation_record record;
    record.time = {at_ms(from), at_ms(from + 0.1)};
    record.correlation = correlation;
    profile.gpu_operations.push_back(record);
  }
  void launch(std::uint64_t correlation, std::uint32_t thread, double at) {
    call(correlation, thread, at, at + 0.01);
    operation(correlation, at + 0.02);
  }
};

using positions = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("an operation belongs to the innermost scope that was open at its launch", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  std::uint32_t const outer = make.path(profkit::path_record::no_parent, "outer");
  std::uint32_t const inner = make.path(outer, "inner");
  make.scope(inner, 0, 1.0, 2.0);
  make.scope(inner, 0, 3.0, 4.0);
  make.scope(outer, 0, 0.0, 5.0);
  double const moments[] = {0.5, 1.5, 2.5, 3.5, 4.5};
  for (std::uint64_t i = 0; i < 5; ++i) {
    make.call(i + 1, 0, moments[i], moments[i] + 0.01);
    make.operation(i + 1, 10.0 + static_cast<double>(i));  // the time at which it runs does not matter
  }
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.scope_of == positions{2, 0, 2, 1, 2});
  CHECK(found.launch_of == positions{0, 1, 2, 3, 4});
  CHECK(found.parent_of == positions{2, 2, none});
}

TEST_CASE("an operation is not charged to scopes of another thread", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}, {101, "other"}};
  std::uint32_t const path = make.path(profkit::path_record::no_parent, "scope");
  std::uint32_t const inside = make.path(path, "inside");
  make.scope(path, 0, 0.0, 5.0);
  make.scope(inside, 1, 1.0, 2.0);
  make.scope(path, 1, 0.5, 3.0);
  make.launch(1, 0, 1.5);
  make.launch(2, 1, 1.5);
  make.launch(3, 1, 4.0);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.scope_of == positions{0, 1, none});
  CHECK(found.parent_of == positions{none, 2, none});
}

TEST_CASE("several threads of the profile may be the same system thread", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "scopes"}, {200, "other"}, {100, "calls"}};
  std::uint32_t const path = make.path(profkit::path_record::no_parent, "scope");
  make.scope(path, 0, 0.0, 1.0);
  make.scope(path, 2, 2.0, 3.0);
  make.scope(path, 0, 4.0, 5.0);
  make.launch(1, 2, 0.5);
  make.launch(2, 2, 2.5);
  make.launch(3, 0, 4.5);
  make.launch(4, 1, 4.5);
  CHECK(profkit::attribute(make.profile).scope_of == positions{0, 1, 2, none});
}

TEST_CASE("a step inside an open scope is a root, with its own scopes below it", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  std::uint32_t const outer = make.path(profkit::path_record::no_parent, "epoch");
  std::uint32_t const step = make.path(profkit::path_record::no_parent, "step");
  std::uint32_t const forward = make.path(step, "forward");
  make.scope(forward, 0, 2.0, 3.0);
  make.scope(step, 0, 1.0, 4.0);
  make.scope(outer, 0, 0.0, 5.0);
  make.launch(1, 0, 0.5);
  make.launch(2, 0, 1.5);
  make.launch(3, 0, 2.5);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.scope_of == positions{2, 1, 0});
  CHECK(found.parent_of == positions{1, none, none});
}

TEST_CASE("an operation without a recorded launch belongs to no scope", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  make.scope(make.path(profkit::path_record::no_parent, "scope"), 0, 0.0, 5.0);
  make.launch(5, 0, 1.0);
  make.operation(4, 1.0);
  make.operation(6, 1.0);
  make.operation(0xffffffffffffffffU, 1.0);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.launch_of == positions{0, none, none, none});
  CHECK(found.scope_of == positions{0, none, none, none});

  make.profile.api_calls.clear();
  CHECK(profkit::attribute(make.profile).launch_of == positions{none, none, none, none});
}

TEST_CASE("all operations of a graph launch belong to the scope of that launch", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  make.scope(make.path(profkit::path_record::no_parent, "scope"), 0, 0.0, 5.0);
  make.call(7, 0, 1.0, 1.1);
  for (int i = 0; i < 100; ++i) make.operation(7, 2.0 + i);  // most of them run after the scope has ended
  make.launch(8, 0, 6.0);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(std::count(found.launch_of.begin(), found.launch_of.end(), 0U) == 100);
  CHECK(std::count(found.scope_of.begin(), found.scope_of.end(), 0U) == 100);
  CHECK(found.scope_of.back() == none);
}

TEST_CASE("of two calls with one correlation the earlier in the list is the launch", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  make.call(3, 0, 1.0, 2.0);
  make.call(3, 0, 1.2, 1.8);
  make.operation(3, 3.0);
  CHECK(profkit::attribute(make.profile).launch_of == positions{0});
}

TEST_CASE("scopes that take no time, or end together, are nested as they were recorded", "[attribution]") {
  launch_builder make;
  make.profile.threads = {{100, "main"}};
  std::uint32_t const outer = make.path(profkit::path_record::no_parent, "outer");
  std::uint32_t const inner = make.path(outer, "inner");
  make.scope(inner, 0, 1.0, 1.0);
  make.scope(outer, 0, 1.0, 1.0);
  make.scope(inner, 0, 1.0, 2.0);
  make.scope(outer, 0, 1.0, 2.0);
  make.launch(1, 0, 1.5);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.parent_of == positions{1, none, 3, none});
  CHECK(found.scope_of == positions{2});
}

TEST_CASE("an empty profile has an empty attribution", "[attribution]") {
  profkit::attribution const found = profkit::attribute({});
  CHECK(found.launch_of.empty());
  CHECK(found.parent_of.empty());
}

TEST_CASE("kernels count as collected if the collector says so", "[attribution]") {
  profkit::profile profile;
  CHECK_FALSE(profkit::has_kernels(profile));
  profile.collectors = {{"kernels", "not collected", "no libcupti", profkit::collector_kind::kernels}};
  CHECK_FALSE(profkit::has_kernels(profile));
  profile.collectors = {{"host memory", "collected", {}}, {"kernels", "collected", {}, profkit::collector_kind::kernels}};
  CHECK(profkit::has_kernels(profile));
}

TEST_CASE("operations of random nests are attributed as constructed", "[attribution]") {
  for (std::uint64_t seed = 1; seed <= repetitions(20); ++seed) {
    INFO("seed " << seed);
    random_gpu_profile const made = make_random_gpu_profile(seed, 1000);
    profkit::attribution const found = profkit::attribute(made.profile);
    CHECK(found.scope_of == made.scope_of);
    CHECK(found.parent_of == made.parent_of);
  }
}

TEST_CASE("the order of the records does not matter", "[attribution]") {
  random_gpu_profile const made = make_random_gpu_profile(3, 2000);
  std::mt19937_64 random{4};
  auto const shuffled = [&](std::size_t size) {
    positions result(size);
    std::iota(result.begin(), result.end(), 0U);
    std::shuffle(result.begin(), result.end(), random);
    return result;
  };
  positions const scopes = shuffled(made.profile.scopes.size());
  positions const calls = shuffled(made.profile.api_calls.size());
  positions const operations = shuffled(made.profile.gpu_operations.size());
  profkit::profile profile = made.profile;
  for (std::size_t i = 0; i < scopes.size(); ++i) profile.scopes[i] = made.profile.scopes[scopes[i]];
  for (std::size_t i = 0; i < calls.size(); ++i) profile.api_calls[i] = made.profile.api_calls[calls[i]];
  for (std::size_t i = 0; i < operations.size(); ++i) profile.gpu_operations[i] = made.profile.gpu_operations[operations[i]];

  profkit::attribution const found = profkit::attribute(profile);
  auto const original = [&](std::uint32_t scope) { return scope == none ? none : scopes[scope]; };
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) wrong += original(found.scope_of[i]) != made.scope_of[operations[i]] ? 1U : 0U;
  for (std::size_t i = 0; i < scopes.size(); ++i) wrong += original(found.parent_of[i]) != made.parent_of[scopes[i]] ? 1U : 0U;
  CHECK(wrong == 0);
}

TEST_CASE("calls are found by any correlation, and the first of those that share one", "[attribution]") {
  std::mt19937_64 random{6};
  for (std::uint64_t const distance : {std::uint64_t{1}, std::uint64_t{12}, std::uint64_t{4096}, std::uint64_t{1} << 40U}) {
    profkit::detail::own_vector<profkit::api_call_record> calls(3000);
    for (profkit::api_call_record& each : calls) each.correlation = distance * (random() % 2000);
    profkit::detail::correlation_index const index{calls};
    std::size_t wrong = 0;
    for (std::uint64_t number = 0; number < 2100; ++number) {
      for (std::uint64_t const wanted : {distance * number, distance * number + 5}) {
        auto const first = std::find_if(calls.begin(), calls.end(), [&](auto const& each) { return each.correlation == wanted; });
        std::uint32_t const expected = first == calls.end() ? none : static_cast<std::uint32_t>(first - calls.begin());
        wrong += index.find(wanted) != expected ? 1U : 0U;
      }
    }
    CHECK(wrong == 0);
  }
  profkit::detail::own_vector<profkit::api_call_record> const no_calls;
  CHECK(profkit::detail::correlation_index{no_calls}.find(7) == none);
}

TEST_CASE("records are sorted by any numbers, and equal ones keep their order", "[bucket_order]") {
  std::mt19937_64 random{5};
  std::vector<std::vector<std::uint64_t>> cases{{}, {7}, {0, 0xffffffffffffffffU}, {5, 5, 5}, {3, 1, 0xffffffffffffffffU, 2, 1}};
  for (std::uint64_t const bound : {10U, 1000U, 1'000'000'000U}) {
    std::vector<std::uint64_t> numbers(1000);
    for (std::uint64_t& each : numbers) each = random() % bound;
    cases.push_back(numbers);
  }
  for (std::vector<std::uint64_t> const& numbers : cases) {
    profkit::detail::bucket_order const order{numbers};
    positions expected(numbers.size());
    std::iota(expected.begin(), expected.end(), 0U);
    std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) { return numbers[a] < numbers[b]; });
    CHECK(order.positions() == expected);
  }
}

TEST_CASE("operations launched outside scopes are charged to the default scope of the thread, if it has one", "[attribution]") {
  profkit::profile profile;
  profile.paths = {step_path(), {0, "rest", {}, "", 0}};
  profile.threads = {{100, "engine"}, {100, "engine", 1}, {101, "other"}};
  profile.gpu_names = {{"kernel", {}}};
  profile.api_names = {"cuLaunchKernel"};
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    profile.api_calls.push_back({{at_ms(thread), at_ms(thread + 0.5)}, thread + 1U, 0, thread});
    profkit::gpu_operation_record operation;
    operation.time = {at_ms(thread + 1), at_ms(thread + 2)};
    operation.correlation = thread + 1U;
    profile.gpu_operations.push_back(operation);
  }
  CHECK(profkit::attribute(profile).path_of == std::vector<std::uint32_t>{none, 1, none});
  CHECK(profkit::attribute(profile).scope_of == std::vector<std::uint32_t>(3, none));
  // CUPTI's records of API calls identify threads only by their system number.
  profile.has_all_api_calls = true;
  CHECK(profkit::attribute(profile).path_of == std::vector<std::uint32_t>{1, 1, none});
}
