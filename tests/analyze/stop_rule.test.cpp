// SPDX-License-Identifier: Apache-2.0
#include <profkit/impl/analyze/verdict/step_verdict.hpp>

#include "../support/made_series.hpp"
#include "../support/step_scenarios.hpp"
#include "../support/testing.hpp"

namespace {

constexpr profkit::milliseconds tick{1.0};

/// The number of steps after which the rule stops.
std::size_t steps_taken(profkit::stop_rule& rule, std::vector<double> const& ms, profkit::profile const& with = {}) {
  std::size_t taken = 0;
  for (double const each : ms) {
    ++taken;
    rule.add(each);
    if (rule.look(with, !with.gpu_steps.empty(), tick)) break;
  }
  return taken;
}

}  // namespace

TEST_CASE("equal steps are enough after sixty, because fewer could miss a kind of step that is one in twenty", "[stop]") {
  profkit::stop_rule rule{0.01, 0, 1000};
  CHECK(steps_taken(rule, std::vector<double>(80, 100.0)) == 60);
  CHECK(rule.result().wanted == 0.01);
  CHECK(rule.result().reached == 0.0);
}

TEST_CASE("it stops when the interval is as narrow as requested, and reports the width", "[stop]") {
  normal_numbers numbers{12};
  std::vector<double> const ms = made_series(numbers, 1000, 5.0);
  profkit::stop_rule rule{0.01, 0, 1000};
  std::size_t const taken = steps_taken(rule, ms);
  CHECK(taken > 50);  // 1.96 x 5 % / sqrt(n) = 1 % at n = 96
  CHECK(taken < 300);
  auto const interval = profkit::interval_of_mean({ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(taken)});
  CHECK(rule.result().reached == *interval->relative());
  CHECK(*rule.result().reached <= 0.01);
}

TEST_CASE("it stops at the bound, even with a wide interval", "[stop]") {
  normal_numbers numbers{13};
  profkit::stop_rule rule{0.001, 0, 60};
  CHECK(steps_taken(rule, made_series(numbers, 100, 20.0)) == 60);
  CHECK(*rule.result().reached > 0.001);
  profkit::stop_rule short_rule{0.01, 0, 4};
  CHECK(steps_taken(short_rule, std::vector<double>(50, 100.0)) == 4);
}

TEST_CASE("the GPU step time decides if it is longer, and must be known for sixty steps", "[stop]") {
  profkit::profile profile;
  normal_numbers numbers{14};
  for (std::uint64_t step = 0; step < 65; ++step) {
    profile.gpu_steps.push_back({step, 0, std::chrono::microseconds{std::llround(200'000.0 + 40'000.0 * numbers.next())}});
  }
  std::vector<double> const host(90, 100.0);
  profkit::stop_rule noisy_gpu{0.01, 5, 90};
  CHECK(steps_taken(noisy_gpu, host, profile) == 90);
  CHECK(noisy_gpu.result().is_of_gpu);
  profkit::stop_rule short_gpu{0.01, 5, 90};
  for (auto& each : profile.gpu_steps) each.duration /= 4;
  CHECK(steps_taken(short_gpu, host, profile) == 60);
  CHECK_FALSE(short_gpu.result().is_of_gpu);
  profkit::stop_rule late_gpu{0.01, 6, 90};  // 59 measured steps have a GPU time
  CHECK(steps_taken(late_gpu, host, profile) == 90);
}

TEST_CASE("the GPU times of omitted steps do not count", "[stop]") {
  profkit::profile profile;
  for (std::uint64_t step = 0; step < 61; ++step) {
    profile.gpu_steps.push_back({step, 0, std::chrono::milliseconds{step == 3 ? 20'000 : 200}});
  }
  std::vector<double> const host(90, 100.0);
  profkit::stop_rule all{0.01, 0, 90};
  CHECK(steps_taken(all, host, profile) == 90);
  CHECK(*all.result().reached > 0.01);
  profkit::stop_rule some{0.01, 0, 90};
  some.leave_out(3);
  CHECK(steps_taken(some, host, profile) == 60);
  CHECK(*some.result().reached == 0.0);
}

TEST_CASE("the final interval contains the mean, also if slow steps are rare", "[stop]") {
  for (step_scenario const& scenario : step_scenarios(1.0)) {
    if (scenario.name != "independent" && scenario.name != "5 % of steps +50 %") continue;
    INFO(scenario.name);
    normal_numbers numbers{15};
    constexpr int runs = 100;
    int holds = 0;
    for (int i = 0; i < runs; ++i) {
      std::vector<double> const ms = scenario.make(numbers, 1000);
      profkit::stop_rule rule{0.01, 0, 1000};
      std::size_t const taken = steps_taken(rule, ms);
      auto const interval = profkit::interval_of_mean({ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(taken)});
      if (std::abs(interval->mean - scenario.mean) <= interval->half_width) ++holds;
    }
    CHECK(holds > runs * 83 / 100);
  }
}
