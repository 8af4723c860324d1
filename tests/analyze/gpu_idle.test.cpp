// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_path.hpp"
#include "../support/profile_of.hpp"
#include "../support/testing.hpp"

namespace {

profkit::gpu_idle_summary idle_in(profkit::summary const& summary, std::string const& path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  REQUIRE(row != nullptr);
  REQUIRE(row->gpu_idle);
  return *row->gpu_idle;
}

profkit::gpu_operation_record operation(double from_ms, double to_ms) {
  profkit::gpu_operation_record result;
  result.time = {at_ms(from_ms), at_ms(to_ms)};
  return result;
}

/// A step [0, 10] with `forward` [1, 4], in ms, in which no operation ran.
profkit::profile one_idle_step() {
  profkit::profile result;
  result.paths = {step_path(), {0, "forward", {}, "train.cpp", 10}};
  result.threads = {{100, "train"}, {101, "loader"}};
  result.gpu_names = {{"kernel", {}}};
  result.collectors = {{"kernels", "collected", {}, profkit::collector_kind::kernels}};
  result.scopes = {{{at_ms(1), at_ms(4)}, 1, 0}, {{at_ms(0), at_ms(10)}, 0, 0}};
  result.steps = {{{at_ms(0), at_ms(10)}, 0, false, 1}};
  return result;
}

}  // namespace

TEST_CASE("idle time by name counts each moment once", "[gpu_idle]") {
  profkit::profile profile = made_gpu_profile();
  for (auto& each : profile.paths) {
    if (each.name != "step") each.name = "part";  // forward, the two attentions inside it, and backward; then one of another thread
  }
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(summary.names.size() == 2);
  REQUIRE(summary.names[1].gpu_idle);
  CHECK(summary.names[1].gpu_idle->inclusive.count() == Approx(3.0));
  CHECK(summary.names[1].gpu_idle->self.count() == Approx(3.0));
}

TEST_CASE("idle time is n/a for scopes of other threads, without kernels and without steps", "[gpu_idle]") {
  profkit::profile profile = made_gpu_profile();
  profkit::summary const whole = profkit::analyze(profile);
  REQUIRE(find_row(whole, "load") != nullptr);
  CHECK_FALSE(find_row(whole, "load")->gpu_idle);
  CHECK(find_row(whole, "load")->gpu);

  profile.steps.clear();
  profkit::summary const without_steps = profkit::analyze(profile);
  REQUIRE(without_steps.gpu);
  CHECK_FALSE(without_steps.gpu->idle);
  for (auto const& row : without_steps.scopes) CHECK_FALSE(row.gpu_idle);
  for (auto const& row : without_steps.names) CHECK_FALSE(row.gpu_idle);

  profile = made_gpu_profile();
  profile.collectors.clear();
  profkit::summary const without_kernels = profkit::analyze(profile);
  for (auto const& row : without_kernels.scopes) CHECK_FALSE(row.gpu_idle);
  for (auto const& row : without_kernels.names) CHECK_FALSE(row.gpu_idle);
}

TEST_CASE("if the scope of no step was recorded, idle time is charged to no scope", "[gpu_idle]") {
  profkit::profile profile = made_gpu_profile();
  profile.scopes.erase(std::remove_if(profile.scopes.begin(), profile.scopes.end(), [](auto const& each) { return each.path == 0; }),
                       profile.scopes.end());
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.gpu->idle->inclusive.count() == Approx(10.9));
  CHECK(summary.gpu->idle->self.count() == Approx(10.9));
  for (auto const& row : summary.scopes) CHECK_FALSE(row.gpu_idle);
}

TEST_CASE("a step in which nothing ran is idle from its beginning to its end", "[gpu_idle]") {
  profkit::summary const summary = profkit::analyze(one_idle_step());
  CHECK(summary.gpu->idle->inclusive.count() == Approx(10.0));
  CHECK(summary.gpu->idle->self.count() == 0.0);
  CHECK(idle_in(summary, "step").inclusive.count() == Approx(10.0));
  CHECK(idle_in(summary, "step").self.count() == Approx(7.0));
  CHECK(idle_in(summary, "step/forward").inclusive.count() == Approx(3.0));
}

TEST_CASE("operations that other steps launched, of any device, keep a step from being idle", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.gpu_operations = {operation(-5, 2), operation(9, 20)};
  profile.gpu_operations[0].device = 1;
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.gpu->idle->inclusive.count() == Approx(7.0));
  CHECK(idle_in(summary, "step/forward").self.count() == Approx(2.0));
  profile.gpu_operations.push_back(operation(-1, 11));
  CHECK(profkit::analyze(profile).gpu->idle->inclusive.count() == 0.0);
}

TEST_CASE("time between the steps and in warm-up is not idle time", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.steps.insert(profile.steps.begin(), {{at_ms(-20), at_ms(-10)}, 0, true, 1});
  profile.scopes.insert(profile.scopes.begin(), {{at_ms(-20), at_ms(-10)}, 0, 0});
  profile.scopes.push_back({{at_ms(-30), at_ms(30)}, 1, 0});
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.gpu->idle->inclusive.count() == Approx(10.0));
  CHECK(idle_in(summary, "step").self.count() == Approx(7.0));
}

TEST_CASE("overlapping scopes that are not nested still share the idle time", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.paths.push_back({0, "late", {}, "train.cpp", 11});
  profile.scopes.insert(profile.scopes.begin() + 1, {{at_ms(3), at_ms(6)}, 2, 0});
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(idle_in(summary, "step").inclusive.count() == Approx(10.0));
  double self = 0.0;
  for (profkit::scope_summary const& row : summary.scopes) self += row.gpu_idle->self.count();
  CHECK(self == Approx(10.0));
}
