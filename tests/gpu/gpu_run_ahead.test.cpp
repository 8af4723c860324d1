// SPDX-License-Identifier: Apache-2.0
//
// A host that runs ahead of a real device: the step time is the device's.
#include <profkit/analyze.hpp>
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/impl/report/headline.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

constexpr std::uint64_t kernel_ns = 5'000'000;

/// 3 warm-up steps and 20 measured ones that launch two kernels of 5 ms.
/// @param waits whether to wait for the device at the end of each step.
template <class Collect>
profkit::report run_loop(bool waits, Collect const& collect) {
  stream const on;
  start_busy(1, 1, on.handle, std::uint64_t{1000});  // the module is loaded before the session
  check(cudaStreamSynchronize(on.handle));
  profkit::options options = plain_options(3, 20);
  options.items_per_step = 4096;
  profkit::session session{options};
  collect(session, on.handle);
  for (profkit::step const step : session) {
    static_cast<void>(step);
    PROF_SCOPE("work");
    for (int i = 0; i < 2; ++i) start_busy(1, 1, on.handle, kernel_ns);
    check(cudaGetLastError());
    if (waits) check(cudaStreamSynchronize(on.handle));
  }
  return session.report();
}

void collect_kernels(profkit::session& into) {
  profkit::collector_status const status = into.collect(profkit::cupti_kernels()).status();
  INFO(status.reason);
  REQUIRE(status.works);
}

/// Timed with CUDA events, without CUPTI.
double event_timed_ms() {
  profkit::report const report =
      run_loop(false, [](profkit::session& session, cudaStream_t on) { session.collect(profkit::cuda_step_timer(on)); });
  REQUIRE(report.summary().steps.gpu);
  return report.summary().steps.gpu->mean->count();
}

}  // namespace

TEST_CASE("without a step timer, the step time of a host that runs ahead is the GPU's", "[gpu]") {
  need_gpu();
  double const by_events = event_timed_ms();
  profkit::report const report = run_loop(false, [](profkit::session& session, cudaStream_t) { collect_kernels(session); });
  profkit::step_summary const& steps = report.summary().steps;
  REQUIRE(steps.gpu_period);
  CHECK(steps.gpu_period->is_longer);
  CHECK(steps.gpu_period->time.mean->count() == Catch::Approx(by_events).epsilon(0.05));
  CHECK(*steps.gpu_period->max_steps_ahead > 1.0);
  REQUIRE(steps.step_time);
  CHECK(steps.step_time->basis == "GPU step time (kernels)");
  CHECK(*steps.items_per_second == Catch::Approx(4096.0 / (by_events / 1000.0)).epsilon(0.05));
  CHECK(steps.host.mean->count() < by_events / 2.0);
  REQUIRE(report.summary().budget);
  profkit::budget_summary const& budget = *report.summary().budget;
  CHECK(budget.is_of_gpu);
  CHECK(budget.busy <= budget.wall);
  CHECK(budget.busy / budget.wall > 0.95);
  CHECK_THAT(report.full_text(), Catch::Matchers::ContainsSubstring("The host runs ahead of the GPU by up to "));
}

TEST_CASE("a step timer and kernels agree on a host that runs ahead", "[gpu]") {
  need_gpu();
  profkit::report const report = run_loop(false, [](profkit::session& session, cudaStream_t on) {
    session.collect(profkit::cuda_step_timer(on));
    collect_kernels(session);
  });
  profkit::step_summary const& steps = report.summary().steps;
  REQUIRE(steps.gpu);
  REQUIRE(steps.gpu_period);
  CHECK(steps.gpu_period->time.mean->count() == Catch::Approx(steps.gpu->mean->count()).epsilon(0.02));
  CHECK(steps.step_time->basis == "GPU step time");
  CHECK(report.summary().budget->is_of_gpu);
}

TEST_CASE("a host that waits for the device in each step does not run ahead", "[gpu]") {
  need_gpu();
  profkit::report const report = run_loop(true, [](profkit::session& session, cudaStream_t) { collect_kernels(session); });
  profkit::step_summary const& steps = report.summary().steps;
  REQUIRE(steps.gpu_period);
  CHECK_FALSE(steps.gpu_period->is_longer);
  CHECK(steps.gpu_period->time.mean->count() <= 1.01 * steps.host.mean->count());
  CHECK(steps.step_time->basis == "host step time");
  CHECK_FALSE(report.summary().budget->is_of_gpu);
}
