// SPDX-License-Identifier: Apache-2.0
//
// Like bench/series.cpp with fewer series; the bounds lie some standard errors below the rates measured there.
#include "../support/step_scenarios.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

#include <profkit/impl/analyze/verdict/step_verdict.hpp>

using profkit::step_verdict;

namespace {

profkit::verdict_summary verdict_of(std::vector<double> const& ms) {
  profkit::timed_steps steps;
  for (std::size_t i = 0; i < ms.size(); ++i) steps.add(i, false, profkit::milliseconds{ms[i]});
  return profkit::judge_steps(steps);
}

}  // namespace

TEST_CASE("the 95 % interval contains the mean of 100 steps in every scenario", "[statistics]") {
  if (repeats_less) SKIP("only many numbers");
  constexpr int series = 150;
  for (step_scenario const& scenario : step_scenarios(1.0)) {
    INFO(scenario.name);
    bool const is_rare = scenario.name == "1 % of steps doubled";  // no interval can be right, because a third of the series has none
    normal_numbers numbers{30};
    int holds = 0;
    for (int i = 0; i < series; ++i) {
      auto const interval = profkit::interval_of_mean(scenario.make(numbers, 100));
      if (std::abs(interval->mean - scenario.mean) <= interval->half_width) ++holds;
    }
    CHECK(holds >= series * (is_rare ? 50 : 82) / 100);
  }
}

TEST_CASE("the interval of 30 independent steps is little wider than Student's", "[statistics]") {
  constexpr int series = 300;
  normal_numbers numbers{31};
  double width = 0.0;
  for (int i = 0; i < series; ++i) width += profkit::interval_of_mean(made_series(numbers, 30, 1.0))->half_width / series;
  CHECK(width < 1.2 * 2.045 / std::sqrt(30.0));
}

TEST_CASE("30 steps with a noise of 1 % are stable, and with a noise of 2 % they are too few", "[statistics]") {
  constexpr int series = 100;
  normal_numbers numbers{32};
  int quiet = 0;
  int loud = 0;
  for (int i = 0; i < series; ++i) {
    if (verdict_of(made_series(numbers, 30, 1.0)).verdict == step_verdict::stable) ++quiet;
    if (verdict_of(made_series(numbers, 30, 2.0)).verdict == step_verdict::stable) ++loud;
  }
  CHECK(quiet >= series * 65 / 100);
  CHECK(loud <= series * 5 / 100);
}

TEST_CASE("a drift of 5 % over 100 steps is called a drift, but wandering steps seldom are", "[statistics]") {
  constexpr int series = 100;
  normal_numbers numbers{33};
  int found = 0;
  int alarms = 0;
  for (int i = 0; i < series; ++i) {
    std::vector<double> ms = made_series(numbers, 100, 1.0);
    for (std::size_t step = 0; step < ms.size(); ++step) ms[step] += 5.0 * static_cast<double>(step) / 99.0;
    if (verdict_of(ms).verdict == step_verdict::drifting) ++found;
    if (verdict_of(made_series(numbers, 30, 3.0, 0.9)).verdict == step_verdict::drifting) ++alarms;
  }
  CHECK(found >= series * 95 / 100);
  CHECK(alarms <= series * 12 / 100);
}
