// SPDX-License-Identifier: Apache-2.0
//
// Causes of GPU idle time on a real device: distinguishes a host that computes from one that launches.
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

using std::chrono::microseconds;

/// Computes on the host for a duration.
void compute(microseconds duration) {
  auto const end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

struct idle_shares {
  double launching = 0.0;
  double host = 0.0;
};

/// The causes of GPU idle time in steps with one scope that does `work`.
template <class Work>
idle_shares idle_of(Work const& work) {
  stream const on;
  start_busy(1, 1, on.handle, std::uint64_t{1000});  // the module is loaded before the session
  check(cudaStreamSynchronize(on.handle));
  profkit::session session{plain_options(2, 10)};
  profkit::collector_status const status = session.collect(profkit::cupti_kernels()).status();
  INFO(status.reason);
  REQUIRE(status.works);
  for (profkit::step const step : session) {
    static_cast<void>(step);
    PROF_SCOPE("work");
    work(on);
    check(cudaGetLastError());
  }
  profkit::report const report = session.report();
  REQUIRE(report.summary().budget);
  profkit::budget_summary const& budget = *report.summary().budget;
  REQUIRE(budget.has_launches);
  auto const idle_for = [&](profkit::idle_cause cause) {
    double sum = 0.0;
    for (profkit::budget_row const& row : budget.rows) sum += row.idle[static_cast<std::size_t>(cause)].count();
    return sum / (budget.wall - budget.busy).count();
  };
  return {idle_for(profkit::idle_cause::launching), idle_for(profkit::idle_cause::host)};
}

}  // namespace

TEST_CASE("9 ms of computing and one launch in the same scope are host-bound", "[gpu]") {
  need_gpu();
  idle_shares const idle = idle_of([](stream const& on) {
    compute(microseconds{9000});
    start_busy(1, 1, on.handle, std::uint64_t{100'000});
  });
  CHECK(idle.host >= 0.95);
  CHECK(idle.launching <= 0.05);
}

TEST_CASE("launches 20 us apart are launch-bound", "[gpu]") {
  need_gpu();
  idle_shares const idle = idle_of([](stream const& on) {
    for (int i = 0; i < 300; ++i) {
      start_busy(1, 1, on.handle, std::uint64_t{1000});
      compute(microseconds{20});
    }
  });
  CHECK(idle.launching >= 0.5);  // the rest is queued: a device takes some microseconds to begin
  CHECK(idle.host <= 0.1);
}
