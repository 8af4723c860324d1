// SPDX-License-Identifier: Apache-2.0
//
// Host samples of a thread that waits for a real device: waiting is apart from computing, and has the name of the driver's call.
#include <profkit/analyze.hpp>
#include <profkit/cupti.hpp>
#include <profkit/impl/collect/built_in_collectors.hpp>
#include <profkit/scope.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

constexpr std::chrono::milliseconds part{10};
volatile std::uint64_t sink = 0;

/// Computes on the host, with few clock readings, so that the samples are in this function.
__attribute__((noinline)) void compute_for(std::chrono::nanoseconds duration) {
  auto const end = std::chrono::steady_clock::now() + duration;
  std::uint64_t value = 1;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 20'000; ++i) value = value * 6364136223846793005U + 1;
  }
  sink = value;
}

std::string told(profkit::host_samples_summary const& all) {
  std::string result;
  for (profkit::sampled_scope_summary const& each : all.scopes) {
    result += each.path + ": " + std::to_string(each.samples) + " samples";
    for (auto const& wait : each.waits) result += ", " + std::to_string(wait.calls) + " x " + wait.name + " " + std::to_string(wait.share);
    for (auto const& function : each.functions) result += ", " + function.name + " " + std::to_string(function.share_of_scope.share);
    result += '\n';
  }
  return result;
}

profkit::sampled_scope_summary row_of(profkit::host_samples_summary const& all, std::string const& path) {
  for (profkit::sampled_scope_summary const& each : all.scopes) {
    if (each.path == path) return each;
  }
  FAIL("no row " << path);
  return {};
}

}  // namespace

TEST_CASE("waiting for a device has the name of its call, apart from computing", "[gpu]") {
  need_gpu();
  stream const on;
  start_busy(1, 1, on.handle, std::uint64_t{1000});  // the module is loaded before the session
  check(cudaStreamSynchronize(on.handle));
  profkit::session session{plain_options(5, 80)};
  profkit::collector_status const kernels = session.collect(profkit::cupti_kernels()).status();
  INFO(kernels.reason);
  REQUIRE(kernels.works);
  profkit::collector_status const samples = session.collect(profkit::host_samples{{1000.0}}).status();
  INFO(samples.reason);
  REQUIRE(samples.works);
  auto const part_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds{part}.count());
  for (profkit::step const step : session) {
    static_cast<void>(step);
    {
      PROF_SCOPE("only waits");
      start_busy(1, 1, on.handle, part_ns);
      check(cudaStreamSynchronize(on.handle));
    }
    {
      PROF_SCOPE("only computes");
      compute_for(part);
    }
    {
      PROF_SCOPE("computes, then waits");
      start_busy(1, 1, on.handle, 2 * part_ns);
      compute_for(part);
      check(cudaStreamSynchronize(on.handle));
    }
  }
  profkit::report const report = session.report();
  REQUIRE(report.summary().host_samples);
  profkit::host_samples_summary const& all = *report.summary().host_samples;
  INFO(all.mechanism << '\n' << told(all));

  profkit::sampled_scope_summary const waits = row_of(all, "step/only waits");
  REQUIRE(waits.waits.size() == 1);
  CHECK(waits.waits[0].name == "cuStreamSynchronize");
  CHECK(waits.waits[0].calls == 80);
  CHECK(waits.waits[0].share > 0.95);

  // On a busy machine the thread also waits for a processor, so these shares have no lower limit near 100 %.
  profkit::sampled_scope_summary const computes = row_of(all, "step/only computes");
  CHECK(computes.waits.empty());
  REQUIRE_FALSE(computes.functions.empty());
  CHECK(computes.functions[0].name.find("compute_for") != std::string::npos);
  CHECK(computes.functions[0].time > 0.9 * computes.sampled);
  CHECK(computes.functions[0].share_of_scope.share > 0.5);

  profkit::sampled_scope_summary const both = row_of(all, "step/computes, then waits");
  REQUIRE(both.waits.size() == 1);
  REQUIRE_FALSE(both.functions.empty());
  CHECK(both.functions[0].name.find("compute_for") != std::string::npos);
  CHECK(both.functions[0].time > 0.9 * both.sampled);
  CHECK(both.functions[0].share_of_scope.share > 0.25);
  CHECK(both.waits[0].name == "cuStreamSynchronize");
  CHECK(both.waits[0].share > 0.35);
  CHECK(both.functions[0].share_of_scope.share + both.waits[0].share < 1.01);
}
