// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/time/time_per_step.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../support/made_gpu_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_step_profile.hpp"
#include "autocorrelation.hpp"

using Catch::Approx;
using profkit::milliseconds;

namespace {

struct expected {
  double mean = 0.0;
  double deviation = 0.0;
  double autocorrelation = 0.0;
};

expected expect(std::vector<double> const& values) {
  expected result;
  auto const n = static_cast<double>(values.size());
  for (double const value : values) result.mean += value / n;
  double squares = 0.0;
  double products = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += std::pow(values[i] - result.mean, 2.0);
    if (i > 0) products += (values[i] - result.mean) * (values[i - 1] - result.mean);
  }
  result.deviation = std::sqrt(squares / (n - 1.0));
  result.autocorrelation = squares > 0.0 ? products / squares : 0.0;
  return result;
}

void check(profkit::per_step_figures const& figures, std::vector<double> const& values) {
  expected const should = expect(values);
  CHECK(figures.mean.count() == Approx(should.mean).margin(1e-12));
  CHECK(figures.standard_deviation.value().count() == Approx(should.deviation).epsilon(1e-6).margin(1e-9));
  if (should.deviation > 1e-9) CHECK(figures.autocorrelation.value() == Approx(should.autocorrelation).epsilon(1e-6).margin(1e-9));
}

}  // namespace

TEST_CASE("a series of steps has the figures of its values, with 0 for omitted steps", "[per_step]") {
  std::mt19937 random{1};
  for (int round = 0; round < 200; ++round) {
    std::size_t const steps = 2 + random() % 40;
    double const base = round % 2 == 0 ? 1000.0 : 1.0;
    std::vector<double> values(steps);
    profkit::detail::step_rows series;
    series.grow(1);
    for (std::size_t step = 0; step < steps; ++step) {
      if (round % 3 != 0 && random() % 3 != 0) continue;
      values[step] = base + static_cast<double>(random() % 1000) / 1000.0;
      series.add(0, std::chrono::nanoseconds{std::llround(values[step] * 1e6)});
      series.end_step(step);
    }
    check(series.summarize(0, steps), values);
  }
}

TEST_CASE("a series that does not vary has no autocorrelation, and one value no spread", "[per_step]") {
  profkit::detail::step_rows constant;
  constant.grow(1);
  for (std::size_t step = 0; step < 10; ++step) {
    constant.add(0, std::chrono::microseconds{100});
    constant.end_step(step);
  }
  profkit::per_step_figures const figures = constant.summarize(0, 10);
  CHECK(figures.mean.count() == Approx(0.1));
  CHECK(figures.standard_deviation.value().count() == 0.0);
  CHECK_FALSE(figures.autocorrelation);
  profkit::detail::step_rows one;
  one.grow(1);
  one.add(0, std::chrono::milliseconds{3});
  one.end_step(0);
  CHECK_FALSE(one.summarize(0, 1).standard_deviation);
  CHECK(one.summarize(1, 5).mean.count() == 0.0);
}

TEST_CASE("copies from or to the host are recognised by their direction, not by their name", "[per_step]") {
  profkit::profile profile = made_gpu_profile();
  auto const host_copies = [&] { return find_row(profkit::analyze(profile), "load")->per_step->host_copies.value().count(); };
  for (auto& each : profile.gpu_names) each.name = each.direction == profkit::copy_direction::unknown ? "copy to the Host" : "copy";
  CHECK(host_copies() == Approx(0.5));
  for (auto& each : profile.gpu_names) each.direction = profkit::copy_direction::device_to_device;
  CHECK(host_copies() == 0.0);
}

TEST_CASE("scopes and kernels have their times per step, including operations launched inside", "[per_step]") {
  profkit::summary const summary = profkit::analyze(made_gpu_profile());
  auto const row = [&](char const* path) { return find_row(summary, path)->per_step.value(); };
  CHECK(row("step").steps == 2);
  CHECK(row("step").host.mean.count() == Approx(10.0));
  CHECK(row("step/forward").host.mean.count() == Approx(3.0));
  CHECK(row("step/forward").gpu.value().mean.count() == Approx(2.0 + 1.0 + 1.5));
  CHECK(row("step/forward/attention").gpu.value().mean.count() == Approx(2.5));
  CHECK(row("step").gpu.value().mean.count() == Approx(2.0 + 1.0 + 1.5 + 0.1 + 1.0));
  CHECK(row("step").host_copies.value().count() == 0.0);
  CHECK(row("load").gpu.value().mean.count() == Approx(0.5));
  CHECK(row("load").host_copies.value().count() == Approx(0.5));
  for (profkit::kernel_summary const& kernel : summary.gpu.value().kernels) {
    CHECK(kernel.per_step.value().steps == 2);
    CHECK(kernel.per_step->gpu.mean.count() == Approx(kernel.time.total.count() / 2.0));
    // One of the kernels runs in one of the two steps only: 0 and 0.5 ms.
    if (kernel.time.count == 1) CHECK(kernel.per_step->gpu.standard_deviation.value().count() == Approx(0.5 / std::sqrt(2.0)));
  }
}

TEST_CASE("in random profiles, the mean times the number of steps is the total of every row", "[per_step]") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    profkit::profile const profile = make_random_step_profile(seed);
    profkit::summary const summary = profkit::analyze(profile);
    if (summary.steps.host.count == 0) continue;
    auto const steps = static_cast<double>(summary.steps.host.count);
    for (profkit::scope_summary const& scope : summary.scopes) {
      REQUIRE(scope.per_step.value().steps == summary.steps.host.count);
      CHECK(scope.per_step->host.mean.count() * steps == Approx(scope.host.total.count()).margin(1e-9));
      if (scope.gpu) CHECK(scope.per_step->gpu.value().mean.count() * steps == Approx(scope.gpu->kernel_time.count()).margin(1e-9));
    }
    for (profkit::kernel_summary const& kernel : summary.gpu.value().kernels) {
      CHECK(kernel.per_step.value().gpu.mean.count() * steps == Approx(kernel.time.total.count()).margin(1e-9));
    }
  }
}

TEST_CASE("without steps, and without kernels, times per step are n/a", "[per_step]") {
  profkit::profile profile = made_gpu_profile();
  profile.collectors.clear();
  CHECK_FALSE(find_row(profkit::analyze(profile), "step/forward")->per_step.value().gpu);
  profile.steps.clear();
  CHECK_FALSE(find_row(profkit::analyze(profile), "step/forward")->per_step);
}
