// SPDX-License-Identifier: Apache-2.0
//
// Steps that the program excluded (`step::exclude`).
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/report/trace_content.hpp>
#include <profkit/report.hpp>

#include "../support/made_full_profile.hpp"
#include "../support/made_gpu_profile.hpp"
#include "../support/made_series.hpp"
#include "../support/made_work_profile.hpp"
#include "../support/testing.hpp"

namespace {

profkit::profile excluding(profkit::profile profile, std::size_t step) {
  profile.steps.at(step).is_excluded = true;
  return profile;
}

/// The profile without a step; the records of the step then lie between steps.
profkit::profile without(profkit::profile profile, std::size_t step) {
  profile.steps.erase(profile.steps.begin() + static_cast<std::ptrdiff_t>(step));
  return profile;
}

/// Removes the number and the times of excluded steps from a summary.
std::string json_of(profkit::summary summary) {
  summary.steps.excluded = 0;
  profkit::detail::own_vector<profkit::listed_step>& listed = summary.listed_steps;
  listed.erase(std::remove_if(listed.begin(), listed.end(), [](profkit::listed_step const& each) { return each.is_excluded; }),
               listed.end());
  return profkit::report_json(summary);
}

/// Five warm-up steps and then measured ones, 1 ms apart, as llm.c makes them: the last iteration validates and leaves the loop.
profkit::profile steps_that_end_with_a_validation() {
  profkit::profile result;
  normal_numbers numbers{7};
  double now = 0.0;
  auto const add = [&](double ms) {
    std::uint64_t const index = result.steps.size();
    result.steps.push_back({{at_ms(now), at_ms(now + ms)}, index, index < 5, 1});
    now += ms + 1.0;
  };
  for (double const ms : made_series(numbers, 35, 0.3)) add(0.46 * ms);
  add(151.0);
  return result;
}

}  // namespace

TEST_CASE("the figures of a profile with an excluded step are those without the step", "[excluded_steps]") {
  for (profkit::profile const& profile : {profile_with_adopted_scope(), made_gpu_profile(true), made_work_profile{}.profile}) {
    for (std::size_t const step : {std::size_t{1}, std::size_t{2}}) {
      INFO("step " << step);
      profkit::summary const excluded = profkit::analyze(excluding(profile, step));
      CHECK(excluded.steps.excluded == 1);
      CHECK(excluded.steps.warmup == 1);
      CHECK(excluded.steps.host.count == 1);
      REQUIRE(excluded.listed_steps.size() == 3);
      CHECK(excluded.listed_steps[step].is_excluded);
      CHECK(excluded.listed_steps[step].host == profkit::milliseconds{profile.steps[step].time.duration()});
      CHECK(json_of(excluded) == json_of(profkit::analyze(without(profile, step))));
      CHECK(json_of(excluded) != json_of(profkit::analyze(profile)));
    }
  }
}

TEST_CASE("an excluded step is not in the trace of the last steps", "[excluded_steps]") {
  profkit::profile const profile = excluding(made_gpu_profile(), 2);
  auto const tracks = profkit::detail::make_trace_tracks(profile, profkit::attribute(profile), 1);
  REQUIRE(tracks.steps.size() == 1);
  CHECK(tracks.steps[0].index == 1);
}

TEST_CASE("a last iteration that only validates makes the steps noisy unless it is excluded", "[excluded_steps]") {
  profkit::profile const all = steps_that_end_with_a_validation();
  profkit::summary const with_validation = profkit::analyze(all);
  CHECK(with_validation.steps.host.count == 31);
  CHECK(with_validation.steps.host_verdict.verdict != profkit::step_verdict::stable);
  CHECK(with_validation.steps.host_verdict.outliers == 1);
  profkit::summary const steady = profkit::analyze(excluding(all, 35));
  CHECK(steady.steps.host.count == 30);
  CHECK(steady.steps.host_verdict.verdict == profkit::step_verdict::stable);
  CHECK(steady.steps.host_verdict.outliers == 0);
  CHECK(steady.steps.host.max->count() < 47.0);
}

TEST_CASE("the report says how many steps the program excluded", "[excluded_steps]") {
  profkit::report const with_excluded{std::make_shared<profkit::profile const>(excluding(made_gpu_profile(), 2))};
  CHECK_THAT(with_excluded.full_text(),
             ContainsSubstring("1 warm-up steps excluded, and 1 by the program (step.exclude()); std is of the sample"));
  CHECK_THAT(profkit::report_json(with_excluded.summary()), ContainsSubstring("\"excluded\": 1"));
  profkit::report const without{std::make_shared<profkit::profile const>(made_gpu_profile())};
  CHECK_THAT(without.full_text(), ContainsSubstring("1 warm-up steps excluded; std is of the sample"));
  CHECK_THAT(profkit::report_json(without.summary()), ContainsSubstring("\"excluded\": 0"));
}
