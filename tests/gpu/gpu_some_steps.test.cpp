// SPDX-License-Identifier: Apache-2.0
//
// Kernels in some steps only (`kernels=every:N`), on a real device. Every kernel has the number of its step as grid size.
#include <profkit/analyze.hpp>
#include <profkit/cuda.hpp>
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

constexpr std::uint64_t launches_a_step = 50;

profkit::options every_third(std::uint64_t measured) {
  profkit::options result = plain_options(2, measured);
  result.kernels_every = 3;
  return result;
}

void require_kernels(profkit::collector_status const& status) {
  INFO(status.reason);
  REQUIRE(status.works);
}

/// The number of kernels by the step whose number they carry.
std::map<std::uint64_t, std::uint64_t> kernels_by_step(profkit::profile const& profile) {
  std::map<std::uint64_t, std::uint64_t> result;
  for (profkit::gpu_operation_record const& each : profile.gpu_operations) {
    if (each.kind == profkit::gpu_operation_kind::kernel) ++result[each.grid[0] - 1];
  }
  return result;
}

}  // namespace

TEST_CASE("every kernel of the collected steps is recorded although the host runs ahead, and none of other steps", "[gpu]") {
  need_gpu();
  stream const on;
  profkit::session session{every_third(9)};
  require_kernels(session.collect(profkit::cupti_kernels()).status());
  for (profkit::step const step : session) {
    PROF_SCOPE("forward");
    auto const number = static_cast<unsigned>(step.index() + 1);
    for (std::uint64_t i = 0; i < launches_a_step; ++i) {
      start_nothing(number, 1, on.handle);
      start_busy(number, 1, on.handle, std::uint64_t{100'000});  // much longer than a launch takes
    }
    check(cudaGetLastError());
  }
  profkit::report const report = session.report();
  std::uint64_t const all = 2 * launches_a_step;
  // The last step of the warm-up is 1.
  CHECK(kernels_by_step(report.profile()) == std::map<std::uint64_t, std::uint64_t>{{1, all}, {4, all}, {7, all}, {10, all}});
  CHECK(report.profile().quality.dropped_operations == 0);
  CHECK(report.profile().quality.invalid_operations == 0);
  CHECK(report.summary().gpu->steps == 3);
  CHECK(report.summary().gpu->all.kernels == 3 * all);
  CHECK(report.summary().gpu->unattributed_kernels == 0);
  CHECK(report.summary().gpu->unknown_launches == 0);
  CHECK(find_row(report.summary(), "step/forward")->gpu->kernels == 3 * all);
}

TEST_CASE("a graph replayed in every step is charged to its capturing scopes in the collected steps", "[gpu]") {
  need_gpu();
  stream const on;
  start_nothing(1, 1, on.handle);
  check(cudaStreamSynchronize(on.handle));
  profkit::session session{every_third(9)};
  require_kernels(session.collect(profkit::cupti_kernels()).status());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  for (profkit::step const step : session) {
    if (step.index() == 0) {
      PROF_SCOPE("forward");
      check(cudaStreamBeginCapture(on.handle, cudaStreamCaptureModeThreadLocal));
      for (std::uint64_t i = 0; i < launches_a_step; ++i) start_nothing(1, 1, on.handle);
      check(cudaStreamEndCapture(on.handle, &graph));
      check(cudaGraphInstantiate(&runnable, graph, 0));
    }
    PROF_SCOPE("replay");
    check(cudaGraphLaunch(runnable, on.handle));
    check(cudaGraphLaunch(runnable, on.handle));
  }
  profkit::report const report = session.report();
  check(cudaGraphExecDestroy(runnable));
  check(cudaGraphDestroy(graph));
  profkit::gpu_summary const& gpu = report.summary().gpu.value();
  CHECK(gpu.steps == 3);
  CHECK(gpu.operations_of_graphs == 3 * 2 * launches_a_step);
  CHECK(gpu.operations_of_unknown_graphs == 0);
  CHECK(gpu.unknown_launches == 0);
  CHECK(find_row(report.summary(), "step/forward")->gpu->kernels == 3 * 2 * launches_a_step);
}

TEST_CASE("switching collection does not count in the GPU time of a step", "[gpu]") {
  need_gpu();
  stream const on;
  profkit::session session{every_third(9)};
  session.collect(profkit::cuda_step_timer(on.handle));  // registered before the kernels, whose switching still comes first
  require_kernels(session.collect(profkit::cupti_kernels()).status());
  for ([[maybe_unused]] profkit::step const step : session) start_busy(1, 1, on.handle, std::uint64_t{5'000'000});
  profkit::report const report = session.report();
  // All operations are in the budget of the collected steps and in no other; each began when nothing else ran.
  for (profkit::gpu_operation_record const& each : report.profile().gpu_operations) {
    for (profkit::step_record const& step : report.profile().steps) {
      if (step.has_kernels || each.time.begin >= step.time.end || each.time.end <= step.time.begin) continue;
      FAIL_CHECK("an operation of a collected step runs in step " << step.index);
    }
  }
  CHECK(report.profile().gpu_steps.size() == 11);
}
