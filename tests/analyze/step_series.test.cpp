// SPDX-License-Identifier: Apache-2.0
#include "../support/step_scenarios.hpp"

#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/time/step_series.hpp>
#include <profkit/impl/analyze/time/step_times.hpp>
#include <profkit/statistics.hpp>

#include "../support/made_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

namespace {

using profkit::detail::step_series;

constexpr std::uint64_t many = 150'000;

step_scenario const& scenario_of(std::vector<step_scenario> const& all, std::string const& name) {
  for (step_scenario const& each : all) {
    if (each.name == name) return each;
  }
  throw std::runtime_error{"no scenario " + name};
}

}  // namespace

TEST_CASE("the verdict on groups of steps equals that on the single steps", "[steps][statistics]") {
  normal_numbers numbers{5};
  std::vector<step_scenario> const scenarios = step_scenarios(1.0);
  for (char const* const name : {"independent", "AR(0.9)", "10 % of steps +30 %", "5 % of steps +50 %", "drift of 5 %", "exponential"}) {
    if (repeats_less && name != std::string_view{"drift of 5 %"}) continue;
    INFO(name);
    std::vector<double> const ms = scenario_of(scenarios, name).make(numbers, many);
    profkit::timed_steps each_step;
    step_series series;
    for (std::uint64_t i = 0; i < many; ++i) {
      each_step.add(i, i < 5, profkit::milliseconds{ms[i]});
      series.add(i, i < 5, at_ms(static_cast<double>(i)), ns_of_ms(ms[i]));
    }
    profkit::verdict_summary const exact = profkit::judge_steps(each_step);
    profkit::detail::step_figures const figures{series};
    profkit::verdict_summary const grouped = figures.verdict({});
    CHECK(grouped.verdict == exact.verdict);
    CHECK(grouped.measured == many - 5);
    CHECK(grouped.warmup == 5);
    CHECK(grouped.mad->count() == Catch::Approx(exact.mad->count()).epsilon(0.05));
    CHECK(grouped.ci95_low->count() == Catch::Approx(exact.ci95_low->count()).epsilon(0.001));
    CHECK(grouped.ci95_high->count() == Catch::Approx(exact.ci95_high->count()).epsilon(0.001));
    CHECK(*grouped.relative_half_width == Catch::Approx(*exact.relative_half_width).epsilon(0.2));
    CHECK(*grouped.effective_samples == Catch::Approx(*exact.effective_samples).epsilon(0.4));
    CHECK(static_cast<double>(grouped.outliers) == Catch::Approx(static_cast<double>(exact.outliers)).epsilon(0.1).margin(50.0));
    CHECK(*grouped.drift == Catch::Approx(*exact.drift).epsilon(0.05).margin(0.001));
    profkit::duration_summary const times = figures.times();
    CHECK(times.count == many - 5);
    CHECK(times.mean->count() == Catch::Approx(0.5 * (exact.ci95_low->count() + exact.ci95_high->count())).epsilon(1e-5));
    std::vector<double> sorted{ms.begin() + 5, ms.end()};
    std::sort(sorted.begin(), sorted.end());
    CHECK(times.p99->count() == Catch::Approx(*profkit::quantile(sorted, 0.99)).epsilon(0.01));
    CHECK(times.max->count() == Catch::Approx(sorted.back()));
  }
}

TEST_CASE("a run of very many steps has all of them in its figures, and a change of level is found", "[steps]") {
  profkit::profile run;
  run.paths = {step_path()};
  run.threads = {{100, "train"}};
  normal_numbers numbers{6};
  double now = 0.0;
  for (std::uint64_t i = 0; i < many; ++i) {
    double const time = (i < 100'000 ? 1.0 : 1.1) * (1.0 + 0.01 * numbers.next());
    run.steps.push_back({{at_ms(now), at_ms(now + time)}, i, i < 3, 1, 0.0, false, false});
    run.gpu_steps.push_back({i, 0, ns_of_ms(0.5 * time)});
    now += time;
  }
  run.time = {run.steps.front().time.begin, run.steps.back().time.end};
  profkit::summary const summary = profkit::analyze(run);
  CHECK(summary.steps.host.count == many - 3);
  CHECK(summary.steps.warmup == 3);
  CHECK(summary.steps.gpu->count == many - 3);
  CHECK(summary.steps.host_samples.size() <= step_series::max_groups);
  CHECK(summary.steps.items == static_cast<double>(many - 3));
  CHECK(summary.steps.host.mean->count() == Catch::Approx(2.0 * summary.steps.gpu->mean->count()).epsilon(1e-4));
  REQUIRE(summary.trend.change);
  CHECK(summary.trend.change->step >= 99'990);
  CHECK(summary.trend.change->step <= 100'010);
  CHECK(summary.trend.change->before.count() == Catch::Approx(1.0).epsilon(0.001));
  CHECK(summary.trend.change->after.count() == Catch::Approx(1.1).epsilon(0.001));
}
