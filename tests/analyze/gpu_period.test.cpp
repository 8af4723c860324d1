// SPDX-License-Identifier: Apache-2.0
//
// GPU periods of steps, and hosts that run ahead of their devices.
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/time/step_times.hpp>

#include "../support/made_loop.hpp"
#include "../support/random_loop_profile.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/repetitions.hpp"
#include "../support/testing.hpp"

using profkit::milliseconds;

namespace {

double share_of_all_parts(profkit::budget_summary const& budget) {
  milliseconds total{};
  for (profkit::budget_row const& row : budget.rows) total += row.total;
  return total / budget.wall;
}

bool runs_ahead(profkit::summary const& summary) { return summary.steps.gpu_period && summary.steps.gpu_period->is_longer; }

/// A step timer that reports the same time for each step.
void add_events(profkit::profile& to, double ms) {
  for (profkit::step_record const& step : to.steps) to.gpu_steps.push_back({step.index, 0, ns_of_ms(ms)});
}

std::vector<double> periods(profkit::summary const& summary) {
  std::vector<double> result;
  for (milliseconds const each : summary.steps.gpu_period.value().samples) result.push_back(each.count());
  return result;
}

/// Invariants of every report.
void check_no_contradiction(profkit::profile const& profile) {
  profkit::summary const summary = profkit::analyze(profile);
  profkit::step_summary const& steps = summary.steps;
  if (!steps.host.mean) return;
  constexpr double exact = 1.0 + 1e-9;
  if (steps.step_time) {
    milliseconds longest = *steps.host.mean;
    if (steps.gpu) longest = std::max(longest, *steps.gpu->mean);
    if (runs_ahead(summary)) longest = std::max(longest, steps.gpu_period->time.mean.value() / (1.0 + profkit::detail::min_gpu_excess));
    CHECK(steps.step_time->mean * exact >= longest);
    if (steps.items > 0) {
      double const items_per_step = steps.items / static_cast<double>(steps.host.count);
      CHECK(profkit::loop_time(steps) >= steps.step_time->mean);
      CHECK(steps.items_per_second.value() * profkit::loop_time(steps).count() / 1000.0 == Approx(items_per_step));
      bool const is_longer = profkit::loop_time(steps) > steps.step_time->mean;
      CHECK(steps.items_per_second_basis == (is_longer ? "wall time of the loop" : steps.step_time->basis));
    }
  }
  if (!summary.gpu || summary.gpu->steps == 0) return;
  milliseconds const busy_per_step = summary.gpu->all.busy / static_cast<double>(summary.gpu->steps);
  if (busy_per_step.count() > 0.0) {
    REQUIRE(steps.step_time);
    CHECK(busy_per_step <= steps.step_time->mean * exact);
  }
  profkit::budget_summary const& budget = summary.budget.value();
  CHECK(budget.is_of_gpu == runs_ahead(summary));
  CHECK(budget.busy <= budget.wall * exact);
  if (budget.wall.count() > 0.0) CHECK(share_of_all_parts(budget) == Approx(1.0));
  if (runs_ahead(summary)) CHECK(summary.gpu->all.busy <= budget.wall * exact);
}

}  // namespace

TEST_CASE("if the host runs ahead, the step time and all derived figures are the GPU's", "[gpu_period]") {
  profkit::profile profile = loop_that_runs_ahead().profile;
  profile.precision = profkit::precision::bf16;
  for (profkit::step_record& step : profile.steps) step.model_flops = 4.2e12;
  profkit::summary const summary = profkit::analyze(profile);
  REQUIRE(runs_ahead(summary));
  profkit::gpu_period_summary const& period = *summary.steps.gpu_period;
  CHECK(period.time.count == 30);
  CHECK(period.time.mean->count() == Approx(10.0));
  CHECK(period.host_mean.count() == Approx(1.99));
  CHECK(period.verdict.verdict == profkit::step_verdict::stable);
  CHECK(period.verdict.warmup == 5);
  CHECK(summary.steps.step_time->mean.count() == Approx(10.0));
  CHECK(summary.steps.step_time->basis == "GPU step time (kernels)");
  CHECK(summary.steps.step_time->verdict == profkit::step_verdict::stable);
  CHECK(*summary.steps.items_per_second == Approx(409'600.0));
  CHECK(summary.steps.items_per_second_basis == "GPU step time (kernels)");
  CHECK(summary.model->basis == "GPU step time (kernels)");
  CHECK(*summary.model->utilization == Approx(4.2e12 / 0.01 / 989.5e12));
  profkit::budget_summary const& budget = *summary.budget;
  CHECK(budget.is_of_gpu);
  CHECK(budget.steps == 30);
  CHECK(budget.wall.count() == Approx(300.0));
  CHECK(budget.busy.count() == Approx(294.0));
  CHECK(share_of_all_parts(budget) == Approx(1.0));
  CHECK(summary.gpu->idle->inclusive.count() == Approx(6.0));
}

TEST_CASE("if the host waits for the GPU in each step, the GPU period is not longer", "[gpu_period]") {
  profkit::summary const summary = profkit::analyze(loop_that_waits().profile);
  REQUIRE(summary.steps.gpu_period);
  CHECK_FALSE(summary.steps.gpu_period->is_longer);
  CHECK(summary.steps.gpu_period->time.mean->count() == Approx(9.51));
  CHECK(summary.steps.gpu_period->max_steps_ahead == 0.0);
  CHECK(summary.steps.step_time->basis == "host step time");
  CHECK(summary.steps.items_per_second_basis == "wall time of the loop");
  CHECK(*summary.steps.items_per_second == Approx(4096.0 / 10.5e-3));
  CHECK_FALSE(summary.budget->is_of_gpu);
  CHECK(summary.budget->wall == summary.steps.host.total);
}

TEST_CASE("a host that launches asynchronously and limits the step does not run ahead", "[gpu_period]") {
  made_loop made;  // the last kernel of each step ends 0.1 ms after the step, while the host is between two steps
  for (int i = 0; i < 20; ++i) {
    double const begin = 10.2 * i;
    for (double at = begin + 1.0; at < begin + 10.0; at += 1.0) made.launch(at, 0.5);
    made.launch(begin + 9.95, 0.14);
    made.step(begin, begin + 10.0);
  }
  profkit::summary const summary = profkit::analyze(made.profile);
  CHECK(summary.steps.gpu_period->time.mean->count() == Approx(10.1));
  CHECK_FALSE(runs_ahead(summary));
  CHECK(summary.steps.step_time->basis == "host step time");
}

TEST_CASE("if CUDA events and kernels agree, the step time is the time between the events", "[gpu_period]") {
  profkit::profile profile = loop_that_runs_ahead().profile;
  add_events(profile, 9.95);
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.steps.step_time->basis == "GPU step time");
  CHECK(summary.steps.step_time->mean.count() == Approx(9.95));
  CHECK(runs_ahead(summary));
  CHECK(summary.budget->is_of_gpu);
}

TEST_CASE("events on a mostly idle stream do not hide a longer GPU period", "[gpu_period]") {
  profkit::profile profile = loop_that_runs_ahead().profile;
  add_events(profile, 3.0);
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.steps.step_time->basis == "GPU step time (kernels)");
  CHECK(summary.steps.step_time->mean.count() == Approx(10.0));
}

TEST_CASE("kernels of some steps give the period of these steps", "[gpu_period]") {
  made_loop made;  // every third step is collected; the collector waits for the devices before and after it
  double now = 0.0;
  for (int i = 0; i < 12; ++i) {
    bool const has_kernels = i % 3 == 2;
    double const done = made.launch(now + 0.1, 9.89);
    made.step(now, now + 2.0);
    made.profile.steps.back().has_kernels = has_kernels;
    if (!has_kernels) made.profile.gpu_operations.pop_back();
    now = has_kernels || i % 3 == 1 ? done + 0.5 : now + 2.1;
  }
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(runs_ahead(summary));
  CHECK(summary.steps.gpu_period->time.count == 4);
  CHECK(summary.steps.gpu_period->time.mean->count() == Approx(10.0));
  CHECK(summary.steps.step_time->mean.count() == Approx(10.0));
  CHECK(summary.budget->steps == 4);
  CHECK(summary.budget->wall.count() == Approx(40.0));
}

TEST_CASE("the last steps of a program that was killed, whose operations are missing, have no period", "[gpu_period]") {
  profkit::profile profile = loop_that_runs_ahead().profile;
  profile.gpu_operations.resize(2 * 20);
  profkit::summary const summary = profkit::analyze(profile);
  CHECK(summary.steps.gpu_period->time.count == 15);
  CHECK(summary.steps.gpu_period->time.mean->count() == Approx(10.0));
  CHECK(summary.steps.step_time->mean.count() == Approx(10.0));
  CHECK(summary.budget->wall.count() == Approx(150.0));
}

TEST_CASE("no period contains work of excluded or abandoned steps", "[gpu_period]") {
  made_loop made;
  for (int i = 0; i < 12; ++i) {
    bool const is_odd_one_out = i == 5 || i == 8;
    made.launch(2.0 * i + 0.1, is_odd_one_out ? 200.0 : 10.0);
    made.step(2.0 * i, 2.0 * i + 1.9);
  }
  made.profile.steps[5].is_excluded = true;
  made.profile.steps.erase(made.profile.steps.begin() + 8);  // abandoned by an exception
  std::vector<double> const ms = periods(profkit::analyze(made.profile));
  REQUIRE(ms.size() == 10);
  CHECK(ms.front() == Approx(10.11));  // from the beginning of the step on the host
  for (std::size_t i = 1; i < ms.size(); ++i) CHECK(ms[i] == Approx(10.0));
}

TEST_CASE("the period lasts until all streams and devices have completed the step", "[gpu_period]") {
  made_loop made;
  for (int i = 0; i < 12; ++i) {
    made.launch(2.0 * i + 0.1, 6.0, 0);
    made.launch(2.0 * i + 0.2, 8.0, 1, 1);
    made.step(2.0 * i, 2.0 * i + 1.9);
  }
  profkit::summary const summary = profkit::analyze(made.profile);
  REQUIRE(runs_ahead(summary));
  CHECK(summary.steps.step_time->mean.count() == Approx((0.21 + 12 * 8.0) / 12.0));
  CHECK(summary.gpu->all.busy <= summary.budget->wall);
}

TEST_CASE("a copy that lasts for several steps delays the period of its own step, and the mean stays right", "[gpu_period]") {
  made_loop made;
  for (int i = 0; i < 20; ++i) {
    made.launch(2.0 * i + 0.1, 10.0, 0);
    if (i == 5) made.launch(2.0 * i + 0.2, 90.0, 1);
    made.step(2.0 * i, 2.0 * i + 1.9);
  }
  std::vector<double> const ms = periods(profkit::analyze(made.profile));
  REQUIRE(ms.size() == 20);
  CHECK(ms[5] == Approx(10.21 + 90.0 - 50.11));
  CHECK(ms[6] == 0.0);
  double total = 0.0;
  for (double const each : ms) total += each;
  CHECK(total == Approx(200.11));
}

TEST_CASE("a step without launches has no GPU time", "[gpu_period]") {
  made_loop made;
  for (int i = 0; i < 12; ++i) {
    if (i % 2 == 0) made.launch(2.0 * i + 0.1, 10.0);
    made.step(2.0 * i, 2.0 * i + 1.9);
  }
  profkit::summary const summary = profkit::analyze(made.profile);
  std::vector<double> const ms = periods(summary);
  REQUIRE(ms.size() == 11);  // nothing is known about the last step, because its work may be missing
  CHECK(ms[1] == 0.0);
  CHECK(ms[2] == Approx(10.0));
}

TEST_CASE("without kernels, or without an operation of a step, there is no period", "[gpu_period]") {
  profkit::profile without_collector = loop_that_runs_ahead().profile;
  without_collector.collectors.clear();
  CHECK_FALSE(profkit::analyze(without_collector).steps.gpu_period);
  profkit::profile without_operations = loop_that_runs_ahead().profile;
  without_operations.gpu_operations.clear();
  profkit::summary const summary = profkit::analyze(without_operations);
  CHECK_FALSE(summary.steps.gpu_period);
  CHECK(summary.steps.step_time->basis == "host step time");
}

TEST_CASE("no report of a random profile contradicts itself", "[gpu_period]") {
  std::size_t ahead = 0;
  std::size_t not_ahead = 0;
  std::uint64_t const seeds = repetitions(400);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    profkit::profile const profile = make_random_loop_profile(seed);
    check_no_contradiction(profile);
    ++(runs_ahead(profkit::analyze(profile)) ? ahead : not_ahead);
  }
  CHECK(ahead > seeds / 8);
  CHECK(not_ahead > seeds / 8);
  for (std::uint64_t seed = 1; seed <= repetitions(150); ++seed) {
    INFO("steps, seed " << seed);
    check_no_contradiction(make_random_step_profile(seed));
  }
}
