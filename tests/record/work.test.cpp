// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/record/scope_work.hpp>
#include <profkit/scope.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "../support/profile_of.hpp"

namespace {

profkit::work_record const& work_in(profkit::profile const& profile, std::string const& path, std::size_t number = 0) {
  for (profkit::work_record const& each : profile.work) {
    if (path_name(profile, each.path) == path && number-- == 0) return each;
  }
  FAIL("no work in " << path);
  return profile.work.front();
}

}  // namespace

TEST_CASE("a scope records its declared work exactly", "[work]") {
  profkit::session session{plain_options()};
  {
    PROF_SCOPE("outer", profkit::work{1.0 / 3.0, 2.0 / 7.0, profkit::precision::bf16, 2.5F});
    PROF_SCOPE("inner", profkit::work{std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()});
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.work.size() == 2);
  profkit::work const outer = work_in(profile, "outer").work;
  CHECK(outer.flops == 1.0 / 3.0);
  CHECK(outer.bytes == 2.0 / 7.0);
  CHECK(outer.precision == profkit::precision::bf16);
  CHECK(outer.backward == 2.5F);
  profkit::work const inner = work_in(profile, "outer/inner").work;
  CHECK(inner.flops == std::numeric_limits<double>::max());
  CHECK(inner.bytes == std::numeric_limits<double>::denorm_min());
  CHECK(inner.precision == profkit::precision::unknown);
  CHECK(inner.backward == 0.0F);
}

TEST_CASE("work added later belongs to the innermost scope, and adds to its declared work", "[work]") {
  profkit::session session{plain_options()};
  {
    PROF_SCOPE("outer", profkit::work{1.0, 2.0});
    profkit::add_work({10.0, 20.0});
    {
      PROF_SCOPE("inner");
      profkit::add_work({100.0, 200.0, profkit::precision::tf32});
    }
    profkit::add_work({1000.0, 2000.0});
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.work.size() == 4);
  CHECK(work_in(profile, "outer", 0).work.flops == 1.0);
  CHECK(work_in(profile, "outer", 1).work.flops == 10.0);
  CHECK(work_in(profile, "outer", 2).work.bytes == 2000.0);
  CHECK(work_in(profile, "outer/inner").work.precision == profkit::precision::tf32);
}

TEST_CASE("a scope without work, and work without a scope or a session, record none", "[work]") {
  profkit::add_work({1.0, 1.0});
  { PROF_SCOPE("before", profkit::work{1.0, 1.0}); }
  profkit::session session{plain_options()};
  { PROF_SCOPE("plain"); }
  profkit::add_work({1.0, 1.0});
  profkit::profile const profile = session.report().profile();
  CHECK(profile.work.empty());
  CHECK(scope_names(profile) == std::vector<std::string>{"plain"});
}

TEST_CASE("the arguments of a scope with work are evaluated once, with and without a session", "[work]") {
  int calls = 0;
  auto const counted = [&] {
    ++calls;
    return 5.0;
  };
  { PROF_SCOPE("before", profkit::work{counted(), 0.0}); }
  CHECK(calls == 1);
  profkit::session session{plain_options()};
  { PROF_SCOPE("scope", profkit::work{counted(), 0.0}); }
  CHECK(calls == 2);
  CHECK(session.report().profile().work.at(0).work.flops == 5.0);
}

TEST_CASE("a step carries the work of the model", "[work]") {
  profkit::options options = plain_options(0, 2);
  options.model_flops_per_step = 1e12;
  profkit::session session{options};
  for (profkit::step step : session) {
    if (step.index() == 1) step.set_model_flops(2e12);
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.steps.size() == 2);
  CHECK(profile.steps[0].model_flops == 1e12);
  CHECK(profile.steps[1].model_flops == 2e12);
}
