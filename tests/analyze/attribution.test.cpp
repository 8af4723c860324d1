// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/gpu/attribution.hpp>

#include "../support/made_launches.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

using positions = std::vector<std::uint32_t>;

constexpr std::uint32_t none = profkit::attribution::none;

}  // namespace

TEST_CASE("an operation without a recorded launch belongs to no scope", "[attribution]") {
  made_launches make;
  make.scope(make.path(profkit::path_record::no_parent, "scope"), 0, 0.0, 5.0);
  make.call(5, 0, 1.0, 1.1);
  for (std::uint64_t const correlation : {std::uint64_t{5}, std::uint64_t{4}, std::uint64_t{6}, ~std::uint64_t{0}}) {
    make.operation(correlation, 1.2, 1.3);
  }
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.launch_of == positions{0, none, none, none});
  CHECK(found.scope_of == positions{0, none, none, none});

  make.profile.api_calls.clear();
  CHECK(profkit::attribute(make.profile).launch_of == positions{none, none, none, none});
}

TEST_CASE("of two calls with one correlation the earlier in the list is the launch", "[attribution]") {
  made_launches make;
  make.call(3, 0, 1.0, 2.0);
  make.call(3, 0, 1.2, 1.8);
  make.operation(3, 3.0, 3.1);
  CHECK(profkit::attribute(make.profile).launch_of == positions{0});
}

TEST_CASE("scopes that take no time, or end together, are nested as they were recorded", "[attribution]") {
  made_launches make;
  std::uint32_t const outer = make.path(profkit::path_record::no_parent, "outer");
  std::uint32_t const inner = make.path(outer, "inner");
  make.scope(inner, 0, 1.0, 1.0);
  make.scope(outer, 0, 1.0, 1.0);
  make.scope(inner, 0, 1.0, 2.0);
  make.scope(outer, 0, 1.0, 2.0);
  make.kernel(0, 1.5, 1.6, 1.7);
  profkit::attribution const found = profkit::attribute(make.profile);
  CHECK(found.parent_of == positions{1, none, 3, none});
  CHECK(found.scope_of == positions{2});
}

TEST_CASE("operations of random nests are attributed as constructed, whatever the distance of correlations", "[attribution]") {
  for (std::uint64_t seed = 1; seed <= repetitions(20); ++seed) {
    INFO("seed " << seed);
    random_gpu_profile made = make_random_gpu_profile(seed, 1000);
    std::uint64_t const distances[] = {1, 12, 4096, std::uint64_t{1} << 40U};
    for (auto& each : made.profile.api_calls) each.correlation *= distances[seed % 4];
    for (auto& each : made.profile.gpu_operations) each.correlation *= distances[seed % 4];
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

TEST_CASE("operations launched outside scopes are charged to the default scope of the thread, if it has one", "[attribution]") {
  made_launches make;
  std::uint32_t const rest = make.path(make.path(profkit::path_record::no_parent, "step"), "rest");
  make.profile.threads = {{100, "engine"}, {100, "engine", rest}, {101, "other"}};
  for (std::uint32_t thread = 0; thread < 3; ++thread) make.kernel(thread, thread, thread + 1, thread + 2);
  CHECK(profkit::attribute(make.profile).path_of == positions{none, rest, none});
  CHECK(profkit::attribute(make.profile).scope_of == positions(3, none));
  // CUPTI's records of API calls identify threads only by their system number.
  make.profile.has_all_api_calls = true;
  CHECK(profkit::attribute(make.profile).path_of == positions{rest, rest, none});
}
