// SPDX-License-Identifier: Apache-2.0
#include <profkit/step.hpp>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/profile_of.hpp"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

static_assert(!std::is_copy_constructible_v<profkit::step>);
static_assert(!std::is_move_constructible_v<profkit::step>);

TEST_CASE("the range-for creates warm-up and measured steps in order", "[step]") {
  profkit::session session{plain_options(2, 3)};
  std::vector<std::uint64_t> indices;
  std::vector<bool> warmups;
  for (profkit::step step : session) {
    indices.push_back(step.index());
    warmups.push_back(step.is_warmup());
  }
  CHECK(indices == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(warmups == std::vector<bool>{true, true, false, false, false});
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.warmup == 2);
  CHECK(summary.steps.host.count == 3);
}

TEST_CASE("a custom loop creates one step per iteration", "[step]") {
  profkit::session session{plain_options(1, 0)};
  for (int i = 0; i < 4; ++i) {
    profkit::step step{session};
    step.set_items(static_cast<std::uint64_t>(10 * i));
    PROF_SCOPE("work");
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.steps.size() == 4);
  CHECK(profile.steps[0].warmup);
  CHECK_FALSE(profile.steps[1].warmup);
  CHECK(profile.steps[3].items == 30);
  CHECK(count_scopes(profile, "step/work") == 4);
}

TEST_CASE("the scope named step is exactly as long as the step", "[step]") {
  profkit::session session{plain_options(0, 3)};
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::profile const profile = session.report().profile();
  std::vector<profkit::interval> scopes;
  for (auto const& scope : profile.scopes) {
    if (path_name(profile, scope.path) == "step") scopes.push_back(scope.time);
  }
  REQUIRE(scopes.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(scopes[i].begin == profile.steps[i].time.begin);
    CHECK(scopes[i].end == profile.steps[i].time.end);
  }
}

TEST_CASE("a step is the root of its tree even inside another scope", "[step]") {
  profkit::session session{plain_options(0, 2)};
  {
    PROF_SCOPE("training");
    for (profkit::step step : session) PROF_SCOPE("work");
  }
  profkit::profile const profile = session.report().profile();
  CHECK(count_scopes(profile, "step/work") == 2);
  CHECK(count_scopes(profile, "training") == 1);
}

TEST_CASE("steps do not nest", "[step]") {
  profkit::session session{plain_options()};
  profkit::step outer{session};
  CHECK_THROWS_MATCHES(profkit::step{session}, profkit::error, MessageMatches(ContainsSubstring("cannot nest")));
  CHECK_THROWS_MATCHES(session.report(), profkit::error, MessageMatches(ContainsSubstring("inside a step")));
}

TEST_CASE("a loop that is left early has the steps that it created", "[step]") {
  profkit::session session{plain_options(1, 10)};
  for (profkit::step step : session) {
    if (step.index() == 4) break;
  }
  CHECK(session.report().summary().steps.host.count == 4);
}

TEST_CASE("a step exited by an exception is counted and not measured", "[step]") {
  profkit::session session{plain_options(0, 3)};
  try {
    for (profkit::step step : session) {
      PROF_SCOPE("work");
      std::this_thread::sleep_for(std::chrono::microseconds{10});  // a step without duration has no scopes
      if (step.index() == 2) throw std::runtime_error{"out of memory"};
    }
  } catch (std::runtime_error const&) {
    profkit::step const after{session};  // inside the handler no exception is active
  }
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.host.count == 3);
  CHECK(summary.quality.abandoned_steps == 1);
  CHECK(find_row(summary, "step/work")->host.count == 2);
}

TEST_CASE("a step that the program excludes is counted, and no figure contains it or its scopes", "[step]") {
  profkit::session session{plain_options(1, 4)};
  std::uint64_t made = 0;
  for (profkit::step step : session) {
    ++made;
    PROF_SCOPE("work");
    std::this_thread::sleep_for(std::chrono::microseconds{10});  // a step without duration has no scopes
    if (step.index() >= 3) step.exclude();
  }
  CHECK(made == 5);  // an excluded step is one of `steps=N`
  profkit::report const report = session.report();
  REQUIRE(report.profile().steps.size() == 5);
  CHECK_FALSE(report.profile().steps[2].is_excluded);
  CHECK(report.profile().steps[3].is_excluded);
  profkit::summary const summary = report.summary();
  CHECK(summary.steps.warmup == 1);
  CHECK(summary.steps.excluded == 2);
  CHECK(summary.steps.host.count == 2);
  CHECK(find_row(summary, "step/work")->host.count == 2);
}

TEST_CASE("excluding a warm-up step has no further effect", "[step]") {
  profkit::session session{plain_options(2, 1)};
  for (profkit::step step : session) {
    if (step.is_warmup()) step.exclude();
  }
  profkit::report const report = session.report();
  CHECK_FALSE(report.profile().steps[0].is_excluded);
  CHECK(report.summary().steps.warmup == 2);
  CHECK(report.summary().steps.excluded == 0);
}

TEST_CASE("an excluded step exited by an exception counts only as abandoned", "[step]") {
  profkit::session session{plain_options(0, 2)};
  try {
    for (profkit::step step : session) {
      if (step.index() == 0) continue;
      step.exclude();
      throw std::runtime_error{"out of memory"};
    }
  } catch (std::runtime_error const&) {
  }
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.excluded == 0);
  CHECK(summary.quality.abandoned_steps == 1);
}

TEST_CASE("a program's scope named step is not the session's step, on any thread", "[step]") {
  profkit::session session{plain_options(0, 3)};
  {
    PROF_SCOPE("step");  // its path is the first
  }
  std::thread{[] { PROF_SCOPE("step"); }}.join();
  for (profkit::step const step : session) {
    static_cast<void>(step);
    PROF_SCOPE("work");
    std::thread{[] {
      PROF_SCOPE("step");
      PROF_SCOPE("work");
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }}.join();
    PROF_SCOPE("step");
  }
  profkit::report const report = session.report();
  profkit::summary const& summary = report.summary();
  REQUIRE(summary.scopes.size() == 5);
  CHECK(summary.scopes[0].path == "step");
  CHECK(summary.scopes[0].host.count == 3);
  // Both add the same nanoseconds as fractions of a millisecond in a different order, so the last bit may differ.
  CHECK(std::chrono::round<std::chrono::nanoseconds>(summary.scopes[0].host.total) ==
        std::chrono::round<std::chrono::nanoseconds>(summary.steps.host.total));
  CHECK(summary.scopes[1].path == "step/work");
  CHECK(summary.scopes[1].host.count == 3);
  CHECK(summary.scopes[2].path == "step/work/step (scope)");
  CHECK(summary.scopes[3].path == "step (scope)");
  CHECK(summary.scopes[3].host.count == 3);
  CHECK(summary.scopes[4].path == "step (scope)/work");
  REQUIRE(summary.names.size() == 3);
  CHECK(summary.names[0].name == "step");
  CHECK(summary.names[0].host.count == 3);
  CHECK(summary.names[2].name == "step (scope)");
  CHECK(summary.names[2].host.count == 6);
  profkit::profile const& profile = report.profile();
  CHECK(std::count_if(profile.paths.begin(), profile.paths.end(), [](auto const& each) { return each.is_step; }) == 1);
}

TEST_CASE("a scope that adopts a token from a step is in the session's step", "[step]") {
  profkit::session session{plain_options(0, 1)};
  for (profkit::step const step : session) {
    static_cast<void>(step);
    profkit::scope_token const here = profkit::scope_token::current();
    PROF_ADOPT_SCOPE("again", here);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.paths.size() == 2);
  std::size_t const adopted = profile.paths[0].is_step ? 1 : 0;
  CHECK(profile.paths[profile.paths[adopted].adopted_from].is_step);
}
