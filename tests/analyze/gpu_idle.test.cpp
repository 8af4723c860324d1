// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/counted_operations.hpp>
#include <profkit/impl/analyze/gpu/gpu_idle.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/analyze/time/thread_timeline.hpp>

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../support/made_gpu_profile.hpp"
#include "../support/made_path.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/repetitions.hpp"

using Catch::Approx;
using std::chrono::nanoseconds;

namespace {

profkit::detail::gpu_idle idle_of(profkit::profile const& profile) {
  profkit::attribution const launched = profkit::attribute(profile);
  profkit::detail::measured_time const when{profile};
  return profkit::detail::find_gpu_idle(profile, launched, profkit::detail::calls_by_lane(profile, launched),
                                        profkit::detail::thread_of_steps(profile, when),
                                        profkit::detail::counted_operations{profile, launched, when}, when, {})
      .front();
}

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

/// Computes the same times by checking every nanosecond of the measured steps.
struct plain_idle_model {
  nanoseconds wall{};
  nanoseconds busy{};
  nanoseconds idle{};
  nanoseconds unattributed{};
  std::vector<nanoseconds> self;
  std::vector<bool> is_on_thread;

  explicit plain_idle_model(profkit::profile const& profile) : self(profile.paths.size()), is_on_thread(profile.paths.size()) {
    for (profkit::scope_record const& scope : profile.scopes) {
      if (profile.threads[scope.thread].system_id == 100) is_on_thread[scope.path] = true;
    }
    for (profkit::step_record const& step : profile.steps) {
      if (step.warmup) continue;
      for (profkit::timestamp at = step.time.begin; at < step.time.end; at += nanoseconds{1}) look(profile, at);
    }
  }

  void look(profkit::profile const& profile, profkit::timestamp at) {
    auto const is_in = [&](profkit::interval const& time) { return time.begin <= at && at < time.end; };
    ++wall;
    if (std::any_of(profile.gpu_operations.begin(), profile.gpu_operations.end(), [&](auto const& each) { return is_in(each.time); })) {
      ++busy;
      return;
    }
    ++idle;
    profkit::scope_record const* innermost = nullptr;
    for (profkit::scope_record const& scope : profile.scopes) {
      if (profile.threads[scope.thread].system_id != 100 || !is_in(scope.time)) continue;
      if (innermost == nullptr || scope.time.duration() < innermost->time.duration()) innermost = &scope;
    }
    ++(innermost == nullptr ? unattributed : self[innermost->path]);
  }
};

}  // namespace

TEST_CASE("idle time of the GPU is charged to the innermost scope of the step thread", "[gpu_idle]") {
  profkit::summary const summary = profkit::analyze(made_gpu_profile());
  // In both steps nothing runs in [0, 1.5], [4.8, 5.8] and [6.8, 10]; in the second a kernel runs in [8.0, 8.5].
  REQUIRE(summary.gpu->idle);
  CHECK(summary.gpu->idle->inclusive.count() == Approx(2 * 5.7 - 0.5));
  CHECK(summary.gpu->idle->self.count() == 0.0);
  CHECK(idle_in(summary, "step").inclusive.count() == Approx(10.9));
  CHECK(idle_in(summary, "step").self.count() == Approx(2 * (1.0 + 0.2 + 3.0) - 0.5));
  CHECK(idle_in(summary, "step/forward").self.count() == Approx(2 * 0.5));
  CHECK(idle_in(summary, "step/forward/attention").inclusive.count() == 0.0);
  CHECK(idle_in(summary, "step/backward").self.count() == Approx(2 * (0.8 + 0.2)));
}

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
  profkit::detail::gpu_idle const idle = idle_of(one_idle_step());
  CHECK(idle.total == ns_of_ms(10));
  CHECK(idle.unattributed == nanoseconds{0});
  CHECK(idle.of_path[0]->inclusive == ns_of_ms(10));
  CHECK(idle.of_path[0]->self == ns_of_ms(7));
  CHECK(idle.of_path[1]->inclusive == ns_of_ms(3));
}

TEST_CASE("operations that other steps launched, of any device, keep a step from being idle", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.gpu_operations = {operation(-5, 2), operation(9, 20)};
  profile.gpu_operations[0].device = 1;
  profkit::detail::gpu_idle const idle = idle_of(profile);
  CHECK(idle.total == ns_of_ms(7));
  CHECK(idle.of_path[1]->self == ns_of_ms(2));
  profile.gpu_operations.push_back(operation(-1, 11));
  CHECK(idle_of(profile).total == nanoseconds{0});
}

TEST_CASE("time between the steps and in warm-up is not idle time", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.steps.insert(profile.steps.begin(), {{at_ms(-20), at_ms(-10)}, 0, true, 1});
  profile.scopes.insert(profile.scopes.begin(), {{at_ms(-20), at_ms(-10)}, 0, 0});
  profile.scopes.push_back({{at_ms(-30), at_ms(30)}, 1, 0});
  profkit::detail::gpu_idle const idle = idle_of(profile);
  CHECK(idle.total == ns_of_ms(10));
  CHECK(idle.of_path[0]->self == ns_of_ms(7));
}

TEST_CASE("overlapping scopes that are not nested still share the idle time", "[gpu_idle]") {
  profkit::profile profile = one_idle_step();
  profile.paths.push_back({0, "late", {}, "train.cpp", 11});
  profile.scopes.insert(profile.scopes.begin() + 1, {{at_ms(3), at_ms(6)}, 2, 0});
  profkit::detail::gpu_idle const idle = idle_of(profile);
  CHECK(idle.total == ns_of_ms(10));
  CHECK(idle.of_path[0]->inclusive == ns_of_ms(10));
  CHECK(idle.of_path[0]->self == idle.total - idle.of_path[1]->self - idle.of_path[2]->self);
}

TEST_CASE("an empty profile has no idle time", "[gpu_idle]") {
  profkit::detail::gpu_idle const idle = idle_of({});
  CHECK(idle.total == nanoseconds{0});
  CHECK(idle.of_path.empty());
}

TEST_CASE("idle time of random profiles equals that of a check of every nanosecond", "[gpu_idle]") {
  nanoseconds all_idle{};
  nanoseconds all_busy{};
  std::uint64_t const seeds = repetitions(200);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    profkit::profile profile = make_random_step_profile(seed);
    // Without launches all idle time is charged to the step thread; step_budget.test.cpp tests other threads.
    for (auto& each : profile.gpu_operations) each.correlation = 0;
    plain_idle_model const model{profile};
    profkit::detail::gpu_idle const found = idle_of(profile);
    CHECK(found.total == model.idle);
    CHECK(found.total + model.busy == model.wall);
    CHECK(found.unattributed == model.unattributed);
    bool const has_measured_step = std::any_of(profile.steps.begin(), profile.steps.end(), [](auto const& each) { return !each.warmup; });
    nanoseconds sum = found.unattributed;
    std::vector<nanoseconds> inclusive = model.self;
    for (std::size_t path = profile.paths.size(); path-- > 0;) {
      INFO("path " << path_name(profile, static_cast<std::uint32_t>(path)));
      REQUIRE(found.of_path[path].has_value() == (model.is_on_thread[path] && has_measured_step));
      if (profile.paths[path].parent != profkit::path_record::no_parent) inclusive[profile.paths[path].parent] += inclusive[path];
      if (!found.of_path[path]) continue;
      CHECK(found.of_path[path]->self == model.self[path]);
      CHECK(found.of_path[path]->inclusive == inclusive[path]);
      sum += found.of_path[path]->self;
    }
    CHECK(sum == found.total);
    all_idle += model.idle;
    all_busy += model.busy;
  }
  CHECK(all_idle > seeds * nanoseconds{50});  // both cases occur often
  CHECK(all_busy > seeds * nanoseconds{50});
}
