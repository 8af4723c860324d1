// SPDX-License-Identifier: Apache-2.0
#include <profkit/kernels_of_scope.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_gpu_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

struct expected_kernel {
  std::string kernel_class;
  std::uint64_t count;
  double total_ms;
};

void check(std::vector<profkit::kernel_summary> const& found, std::vector<expected_kernel> const& expected) {
  REQUIRE(found.size() == expected.size());
  double total = 0.0;
  for (expected_kernel const& each : expected) total += each.total_ms;
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(found[i].name);
    CHECK(found[i].kernel_class == expected[i].kernel_class);
    CHECK(found[i].time.count == expected[i].count);
    CHECK(found[i].time.total.count() == Approx(expected[i].total_ms));
    CHECK(found[i].share.value() == Approx(expected[i].total_ms / total));
  }
}

}  // namespace

TEST_CASE("the kernels of a scope, by its name or path, are those launched in it and inside it, in measured steps, once",
          "[kernels_of_scope]") {
  std::vector<expected_kernel> const attention{{"elementwise", 2, 3.0}, {"softmax", 2, 2.0}};
  std::pair<char const*, std::vector<expected_kernel>> const cases[] = {
      {"forward", {{"matmul", 2, 4.0}, {"elementwise", 2, 3.0}, {"softmax", 2, 2.0}}},
      {"backward", {{"matmul", 2, 2.0}}},
      {"step", {{"matmul", 4, 6.0}, {"elementwise", 2, 3.0}, {"softmax", 2, 2.0}}},
      {"attention", attention},  // one is inside another
      {"step/forward/attention", attention},
      {"step/forward/attention/attention", {{"elementwise", 2, 3.0}}},
      {"forward/attention", {}},
      {"load", {}},  // copies are not kernels
      {"nowhere", {}},
      {"", {}}};
  for (auto const& [scope, kernels] : cases) {
    INFO(scope);
    check(profkit::kernels_of_scope(made_gpu_profile(), scope), kernels);
  }
}

TEST_CASE("kernels launched outside scopes, or by an unknown call, belong to no scope", "[kernels_of_scope]") {
  check(profkit::kernels_outside_scopes(made_gpu_profile()), {{"other", 1, 0.5}, {"elementwise", 2, 0.4}});
}

TEST_CASE("an index is part of the name of a scope", "[kernels_of_scope]") {
  profkit::profile profile = made_gpu_profile();
  profile.paths[4].index = 3;
  check(profkit::kernels_of_scope(profile, "backward_3"), {{"matmul", 2, 2.0}});
  CHECK(profkit::kernels_of_scope(profile, "backward").empty());
}

TEST_CASE("kernel classes follow the given rules", "[kernels_of_scope]") {
  profkit::analyze_options options;
  options.kernel_classes.insert(options.kernel_classes.begin(), {"mine", {"cutlass"}});
  check(profkit::kernels_of_scope(made_gpu_profile(), "backward", options), {{"mine", 2, 2.0}});
}

TEST_CASE("in any profile, the kernels of a path are those that its summary row counts", "[kernels_of_scope]") {
  for (std::uint64_t seed = 1; seed <= repetitions(20); ++seed) {
    profkit::profile const profile = make_random_gpu_profile(seed, 300).profile;
    profkit::summary const summary = profkit::analyze(profile);
    INFO("seed " << seed);
    std::map<std::string, std::uint64_t> rows;
    for (profkit::scope_summary const& row : summary.scopes) rows[row.path] += row.gpu->kernels;
    for (auto const& [path, kernels] : rows) {
      if (path.find('/') == std::string::npos) continue;  // a path that is also a name
      std::uint64_t found = 0;
      for (auto const& each : profkit::kernels_of_scope(profile, path)) found += each.time.count;
      INFO(path);
      CHECK(found == kernels);
    }
    std::uint64_t outside = 0;
    for (auto const& each : profkit::kernels_outside_scopes(profile)) outside += each.time.count;
    CHECK(outside == summary.gpu->unattributed_kernels);
  }
}
