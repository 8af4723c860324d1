// SPDX-License-Identifier: Apache-2.0
#include <profkit/analyze.hpp>
#include <profkit/impl/analyze/readings.hpp>
#include <profkit/impl/analyze/verdict/step_verdict.hpp>

#include "../support/made_profile.hpp"
#include "../support/made_series.hpp"
#include "../support/testing.hpp"

using profkit::step_verdict;
using profkit::warmup_finding;

namespace {

profkit::verdict_summary judged(std::vector<double> const& ms, std::size_t warmup = 0,
                                std::vector<profkit::clock_summary> const& clocks = {}) {
  profkit::timed_steps steps;
  for (std::size_t i = 0; i < ms.size(); ++i) steps.add(i, i < warmup, profkit::milliseconds{ms[i]});
  return profkit::judge_steps(steps, clocks);
}

/// The summary of the clocks of `made_profile` in the measured steps 1 and 2.
std::vector<profkit::clock_summary> clocks_of(std::uint32_t sm_mhz, std::uint64_t reasons) {
  profkit::profile profile = made_profile();
  profile.device_clocks = {{at_ms(100.0), 0, 0, 300, 1980, 0x40, {}, {}}, {at_ms(210.0), 1, 0, sm_mhz, 1980, reasons, 700'000U, 71U}};
  return profkit::analyze(profile).steps.clocks;
}

bool is_throttled(std::uint32_t sm_mhz, std::uint64_t reasons) { return clocks_of(sm_mhz, reasons).at(0).throttled_readings == 1; }

}  // namespace

TEST_CASE("quiet steps are stable, and the figures say how well their mean is known", "[verdict]") {
  normal_numbers numbers{8};
  std::vector<double> const ms = made_series(numbers, 35, 1.0);
  profkit::verdict_summary const found = judged(ms, 5);
  CHECK(found.verdict == step_verdict::stable);
  CHECK(found.measured == 30);
  CHECK(found.warmup == 5);
  CHECK(found.finding == warmup_finding::enough);
  CHECK(found.steady_from == 0U);
  CHECK(found.ci95_low->count() < 100.0);
  CHECK(found.ci95_high->count() > 100.0);
  CHECK(*found.relative_half_width == Approx((found.ci95_high->count() - found.ci95_low->count()) / 2.0 / 100.0).epsilon(0.01));
  CHECK(found.mad->count() == Approx(0.6745).epsilon(0.4));
}

TEST_CASE("a mean that is not known to 1 %, or many outliers, make a run noisy", "[verdict]") {
  normal_numbers numbers{9};
  CHECK(judged(made_series(numbers, 35, 10.0), 5).verdict == step_verdict::noisy);
  std::vector<double> spikes = made_series(numbers, 305, 0.1);
  for (std::size_t i = 5; i < spikes.size(); i += 8) spikes[i] += 3.0;
  profkit::verdict_summary const found = judged(spikes, 5);
  CHECK(found.outliers == 38);
  CHECK(*found.relative_half_width < 0.01);
  CHECK(found.verdict == step_verdict::noisy);
}

TEST_CASE("steps that become longer drift, with the amount", "[verdict]") {
  normal_numbers numbers{10};
  std::vector<double> ms = made_series(numbers, 35, 0.5);
  for (std::size_t i = 0; i < ms.size(); ++i) ms[i] += 0.2 * static_cast<double>(i);
  profkit::verdict_summary const found = judged(ms, 5);
  CHECK(found.verdict == step_verdict::drifting);
  CHECK(*found.drift == Approx(0.2 * 29.0 / 103.4).epsilon(0.15));
  CHECK(*found.drift_p_value < 0.01);
}

TEST_CASE("a significant but small drift is not reported", "[verdict]") {
  std::vector<double> ms;
  for (int i = 0; i < 35; ++i) ms.push_back(100.0 + 0.03 * i);
  CHECK(judged(ms, 5).verdict == step_verdict::stable);
  CHECK(*judged(ms, 5).drift_p_value < 1e-6);
}

TEST_CASE("for a short warm-up the verdict states the length that it should have", "[verdict]") {
  normal_numbers numbers{11};
  std::vector<double> ms = made_series(numbers, 40, 1.0);
  for (std::size_t i = 0; i < 9; ++i) ms[i] += 40.0;
  CHECK(judged(ms, 5).verdict == step_verdict::still_warming);
  CHECK(judged(ms, 5).steady_from == 9U);
  CHECK(judged(ms, 9).verdict == step_verdict::stable);
}

TEST_CASE("few steps are too few, no steps have no figures, and no figure is NaN", "[verdict]") {
  CHECK(judged({}).verdict == step_verdict::too_few);
  CHECK_FALSE(judged({}).mad);
  CHECK_FALSE(judged({}).ci95_low);
  CHECK(judged({5.0}).verdict == step_verdict::too_few);
  CHECK_FALSE(judged({5.0}).effective_samples);
  CHECK(judged({5.0, 6.0}).effective_samples == 2.0);
  CHECK_FALSE(judged({5.0, 6.0}).drift);
  CHECK(judged(std::vector<double>(9, 5.0)).verdict == step_verdict::too_few);
  CHECK(judged(std::vector<double>(10, 5.0)).verdict == step_verdict::too_few);
  CHECK(judged(std::vector<double>(28, 5.0)).verdict == step_verdict::too_few);
  CHECK(judged(std::vector<double>(29, 5.0)).verdict == step_verdict::stable);
  for (double const constant : {0.0, 5.0}) {
    profkit::verdict_summary const found = judged(std::vector<double>(40, constant), 5);
    CHECK(std::isfinite(found.ci95_low->count()));
    CHECK(std::isfinite(*found.effective_samples));
    CHECK(std::isfinite(found.drift.value_or(0.0)));
    CHECK(std::isfinite(found.change));
    CHECK(found.outliers == 0);
  }
}

TEST_CASE("a device with clocks lowered for heat or power throttles, independent of step times", "[verdict]") {
  for (std::uint64_t const reason : {0x8U, 0x20U, 0x40U, 0x80U}) CHECK(is_throttled(1900, reason));
  CHECK(is_throttled(1400, 0x4));
  CHECK_FALSE(is_throttled(1500, 0x4));  // 76 %: normal for large devices under load
  CHECK_FALSE(is_throttled(345, 0x1));   // idle
  CHECK_FALSE(is_throttled(1980, 0x0));
  CHECK(judged(std::vector<double>(40, 5.0), 5, clocks_of(1200, 0x40)).verdict == step_verdict::throttled);
  CHECK(judged(std::vector<double>(40, 5.0), 5, clocks_of(1900, 0x4)).verdict == step_verdict::stable);
}

TEST_CASE("only clocks read after measured steps count", "[verdict]") {
  profkit::clock_summary const clocks = clocks_of(1700, 0x4).at(0);
  CHECK(clocks.readings == 1);
  CHECK(clocks.min_mhz == 1700);
  CHECK(clocks.mean_mhz == 1700.0);
  CHECK(clocks.max_watt == 700.0);
  CHECK(clocks.max_celsius == 71U);
  CHECK(profkit::clock_reason_names(0x4 | 0x40) == std::vector<std::string>{"power cap", "hardware thermal slowdown"});
  CHECK(profkit::clock_reason_names(0) == std::vector<std::string>{});
  CHECK(profkit::clock_reason_names(0x10000) == std::vector<std::string>{"another reason"});
}

TEST_CASE("host and GPU times of a profile have a verdict each", "[verdict]") {
  profkit::step_summary const steps = profkit::analyze(made_profile()).steps;
  CHECK(steps.host_verdict.measured == 2);
  CHECK(steps.host_verdict.warmup == 1);
  CHECK(steps.host_verdict.mad->count() == Approx(5.0));
  REQUIRE(steps.gpu_verdict);
  CHECK(steps.gpu_verdict->mad->count() == Approx(7.5));
  profkit::profile without = made_profile();
  without.gpu_steps.clear();
  CHECK_FALSE(profkit::analyze(without).steps.gpu_verdict);
}

// Step times of the trainer on an H200, 30 measured steps each, in milliseconds, with the verdict of a person.
TEST_CASE("recorded steps get the expected verdicts", "[verdict]") {
  // 2.7 billion parameters, training in bf16, on a quiet machine: the GPU sets the pace.
  CHECK(judged({228.5, 229.5, 229.4, 229.2, 227.6, 229.1, 228.9, 229.1, 228.4, 229.0, 229.7, 229.0, 227.5, 229.0, 228.9,
                229.1, 228.9, 228.9, 229.0, 228.9, 228.7, 228.7, 228.9, 229.0, 229.0, 229.0, 229.0, 228.9, 228.6, 228.6})
            .verdict == step_verdict::stable);

  // Small model, forward only: the host runs ahead of the GPU, until the queue is full in the third step.
  auto const queue = judged({3.525, 8.342, 17.41, 17.32, 17.40, 17.38, 17.34, 17.39, 17.34, 17.38, 17.38, 17.41, 17.43, 17.44, 17.38,
                             17.44, 17.42, 17.44, 17.38, 17.38, 17.26, 17.40, 17.37, 17.41, 17.44, 17.43, 17.41, 17.44, 17.44, 17.43});
  CHECK(queue.verdict == step_verdict::drifting);  // longer steps are no warm-up
  CHECK(queue.finding == warmup_finding::never_steady);
  CHECK(queue.steady_from == 2U);

  // Increases slowly by half a millisecond.
  auto const slower = judged({17.94, 18.04, 18.05, 18.73, 18.29, 18.13, 18.12, 18.35, 18.29, 18.38, 18.14, 18.22, 18.24, 18.22, 17.99,
                              18.37, 18.27, 18.30, 18.55, 18.34, 18.35, 18.34, 18.46, 18.45, 18.37, 18.46, 18.48, 18.56, 18.45, 19.03});
  CHECK(slower.verdict != step_verdict::stable);
  CHECK(*slower.drift_p_value < 0.01);  // not enough for a drift of 30 steps
  CHECK(*slower.drift == Approx(0.026).epsilon(0.1));

  // The following series are from a shared host.
  auto const high_start = judged({35.44, 35.44, 33.20, 34.03, 27.98, 26.60, 25.69, 25.79, 25.60, 31.29, 26.49, 26.12, 31.33, 25.00, 35.21,
                                  25.57, 26.70, 28.46, 26.06, 31.11, 25.62, 40.04, 28.95, 31.19, 28.19, 28.05, 29.02, 29.38, 29.45, 28.93});
  CHECK(high_start.verdict == step_verdict::noisy);  // the later peaks are as high as the first four steps
  CHECK(*high_start.relative_half_width > 0.05);

  // Steady and without outliers, but known only to 1.5 %.
  auto const uneven = judged({32.18, 29.57, 29.01, 30.79, 31.17, 31.37, 31.10, 30.67, 30.88, 30.63, 30.24, 30.45, 31.20, 31.45, 31.74,
                              29.70, 31.91, 31.07, 29.92, 29.71, 29.39, 30.28, 29.86, 30.98, 29.90, 29.26, 29.64, 30.00, 30.33, 30.95});
  CHECK(uneven.verdict == step_verdict::noisy);
  CHECK(uneven.outliers == 0);
  CHECK(*uneven.relative_half_width == Approx(0.014).epsilon(0.1));

  CHECK(judged({23.56, 23.91, 20.70, 20.83, 21.03, 20.84, 21.11, 21.41, 22.49, 23.72, 21.86, 21.14, 21.35, 21.88, 22.81,
                21.60, 21.69, 21.20, 25.12, 24.41, 24.33, 25.95, 25.88, 24.99, 25.71, 22.53, 32.46, 24.25, 31.09, 32.14})
            .verdict == step_verdict::noisy);  // the last steps are longer, but so differently that it can be noise

  // A change begins in step 25, but similar times occurred at the beginning.
  auto const two_levels = judged({24.00, 24.82, 32.78, 29.54, 32.31, 24.49, 22.60, 22.95, 23.73, 22.86, 22.93, 22.64, 23.11, 23.24, 23.43,
                                  23.95, 24.27, 24.10, 24.13, 23.88, 24.18, 25.15, 23.71, 23.69, 24.12, 33.81, 33.10, 33.91, 32.83, 34.34});
  CHECK(two_levels.verdict == step_verdict::uneven);
  CHECK(two_levels.pattern->shape == profkit::series_shape::levels);
  CHECK_FALSE(two_levels.relative_half_width);

  auto const spikes = judged({26.47, 26.66, 26.31, 28.26, 25.13, 27.47, 41.59, 36.78, 27.73, 27.40, 28.24, 24.82, 27.49, 27.05, 33.93,
                              27.32, 35.72, 25.56, 24.93, 24.35, 25.68, 26.92, 26.04, 25.17, 24.38, 30.65, 23.58, 24.04, 26.91, 26.03});
  CHECK(spikes.verdict == step_verdict::noisy);
  CHECK(spikes.outliers == 4);
}
