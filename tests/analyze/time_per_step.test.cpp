// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>

#include "../support/made_gpu_profile.hpp"
#include "../support/profile_of.hpp"
#include "../support/random_step_profile.hpp"
#include "../support/testing.hpp"

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

/// The host times per step of a scope with these times, in milliseconds; with 0 the step has no such scope.
profkit::per_step_figures figures_of(std::vector<double> const& ms) {
  profkit::profile profile;
  profile.paths = {step_path(), {0, "part", {}, "a.cpp", 1}};
  profile.threads = {{100, "train"}};
  for (std::size_t i = 0; i < ms.size(); ++i) {
    profkit::timestamp const begin = at_ms(2000.0 * static_cast<double>(i));
    profkit::interval const step{begin, begin + std::chrono::milliseconds{1500}};
    if (ms[i] > 0.0) profile.scopes.push_back({{begin, begin + std::chrono::nanoseconds{std::llround(ms[i] * 1e6)}}, 1, 0});
    profile.scopes.push_back({step, 0, 0});
    profile.steps.push_back({step, i, false, 1});
  }
  return find_row(profkit::analyze(profile), "step/part")->per_step.value().host;
}

}  // namespace

TEST_CASE("a scope has the mean, spread and autocorrelation of its times in all steps, 0 in steps without it", "[per_step]") {
  std::mt19937 random{1};
  for (int round = 0; round < 200; ++round) {
    double const base = round % 2 == 0 ? 1000.0 : 1.0;
    std::vector<double> values(2 + random() % 40);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (round % 3 == 0 || i == 0 || random() % 3 == 0) values[i] = base + static_cast<double>(random() % 1000) / 1000.0;
    }
    check(figures_of(values), values);
  }
}

TEST_CASE("times that do not vary have no autocorrelation, and one time has no spread", "[per_step]") {
  profkit::per_step_figures const figures = figures_of(std::vector<double>(10, 0.1));
  CHECK(figures.mean.count() == Approx(0.1));
  CHECK(figures.standard_deviation.value().count() == 0.0);
  CHECK_FALSE(figures.autocorrelation);
  CHECK_FALSE(figures_of({3.0}).standard_deviation);
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
