// SPDX-License-Identifier: Apache-2.0
//
// The GPU timers on an imitated CUDA runtime (fake_cudart.cpp), to test their rules on machines without a GPU.
#include <profkit/cuda.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <thread>
#include <type_traits>

#include "../support/profile_of.hpp"
#include "fake_cudart.hpp"

using Catch::Approx;

static_assert(!std::is_copy_constructible_v<profkit::gpu_scope>);
static_assert(!std::is_move_constructible_v<profkit::gpu_scope>);

namespace {

cudaStream_t const stream = nullptr;

/// A GPU scope inside very many others.
void nest(int depth) {
  PROF_SCOPE("a name that is as long as names of functions with their namespaces and the types of their parameters are");
  if (depth > 1) return nest(depth - 1);
  PROF_GPU_SCOPE("innermost", stream);
}

/// Long enough for a session to drain at the end of a step.
void pass_drain_interval() { std::this_thread::sleep_for(std::chrono::milliseconds{11}); }

}  // namespace

TEST_CASE("a GPU scope has the time between its events, and its host time", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(0, 2)};
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);
    fake.now_ms += 2.0 + static_cast<double>(step.index());
  }
  profkit::report const report = session.report();
  profkit::scope_summary const* const row = find_row(report.summary(), "step/forward");
  REQUIRE(row != nullptr);
  REQUIRE(row->gpu_events);
  CHECK(row->host.count == 2);
  CHECK(row->gpu_events->count == 2);
  CHECK(row->gpu_events->total.count() == Approx(5.0));
  CHECK_FALSE(find_row(report.summary(), "step")->gpu_events);
}

TEST_CASE("a GPU scope exited by an exception has its end and its GPU time", "[cuda]") {
  fake = {};
  static_assert(std::is_nothrow_constructible_v<profkit::gpu_scope, profkit::site&, cudaStream_t>);
  static_assert(std::is_nothrow_destructible_v<profkit::gpu_scope>);
  profkit::session session{plain_options()};
  for (int i = 0; i < 3; ++i) {
    try {
      PROF_GPU_SCOPE("outer", stream);
      fake.now_ms += 1.0;
      PROF_GPU_SCOPE("inner", stream);
      fake.now_ms += 2.0;
      throw i;
    } catch (int) {
    }
  }
  profkit::report const report = session.report();
  CHECK(report.profile().quality.open_scopes == 0);
  CHECK(report.profile().quality.unread_gpu_times == 0);
  CHECK(find_row(report.summary(), "outer")->gpu_events->count == 3);
  CHECK(find_row(report.summary(), "outer")->gpu_events->total.count() == Approx(9.0));
  CHECK(find_row(report.summary(), "outer/inner")->gpu_events->total.count() == Approx(6.0));
}

TEST_CASE("a GPU scope without a path, because enclosing scopes fill the table, is not timed as another scope", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(0, 1)};
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);
    nest(2000);
  }
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.gpu_scopes.size() == 1);
  CHECK(path_name(profile, profile.gpu_scopes[0].path) == "step/forward");
  CHECK(profile.quality.collapsed_scopes > 1000);
  CHECK(profile.quality.untimed_gpu_scopes + profile.quality.unread_gpu_times == 0);
}

TEST_CASE("the step timer times warm-up too and reports measured steps only", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(2, 3)};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) fake.now_ms += step.is_warmup() ? 100.0 : 7.0;
  profkit::report const report = session.report();
  CHECK(report.profile().gpu_steps.size() == 5);
  REQUIRE(report.summary().steps.gpu);
  CHECK(report.summary().steps.gpu->count == 3);
  CHECK(report.summary().steps.gpu->mean->count() == Approx(7.0));
  CHECK(report.summary().environment.gpu == "fake GPU");
}

TEST_CASE("after warm-up no event is created, and nothing ever synchronises", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(3, 20)};
  session.collect(profkit::cuda_step_timer{stream});
  int created_in_warmup = 0;
  for (profkit::step step : session) {
    if (!step.is_warmup() && created_in_warmup == 0) created_in_warmup = fake.events_created;
    for (int i = 0; i < 8; ++i) {
      PROF_GPU_SCOPE("part", stream);
      fake.now_ms += 1.0;
    }
    pass_drain_interval();
  }
  CHECK(created_in_warmup > 0);
  CHECK(fake.events_created == created_in_warmup);
  CHECK(find_row(session.report().summary(), "step/part")->gpu_events->count == 160);
  CHECK(fake.synchronisations == 0);
  CHECK(fake.unsafe_queries == 0);
}

TEST_CASE("a device that lags behind is read later", "[cuda]") {
  fake = {};
  fake.lag_ms = 25.0;  // two and a half steps
  profkit::session session{plain_options(0, 10)};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);
    fake.now_ms += 10.0;
    pass_drain_interval();
  }
  fake.now_ms += 100.0;
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.gpu->count == 10);
  CHECK(summary.steps.gpu->mean->count() == Approx(10.0));
  CHECK(find_row(summary, "step/forward")->gpu_events->count == 10);
  CHECK(summary.quality.unread_gpu_times == 0);
}

TEST_CASE("under stream capture nothing is recorded and the time is n/a", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(0, 3)};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) {
    fake.is_capturing = step.index() == 1;
    PROF_GPU_SCOPE("forward", stream);
    fake.now_ms += 4.0;
  }
  profkit::summary const summary = session.report().summary();
  CHECK(fake.records_in_capture == 0);
  CHECK(find_row(summary, "step/forward")->host.count == 3);
  CHECK(find_row(summary, "step/forward")->gpu_events->count == 2);
  CHECK(summary.steps.gpu->count == 1);  // step 1 ends and step 2 begins during the capture
  CHECK(summary.quality.untimed_gpu_scopes == 1);
}

TEST_CASE("a capture that begins inside a GPU scope leaves it without a time", "[cuda]") {
  fake = {};
  profkit::session session{plain_options()};
  {
    PROF_GPU_SCOPE("forward", stream);
    fake.is_capturing = true;
  }
  fake.is_capturing = false;
  profkit::summary const summary = session.report().summary();
  CHECK(fake.records_in_capture == 0);
  CHECK_FALSE(find_row(summary, "forward")->gpu_events);
  CHECK(summary.quality.untimed_gpu_scopes == 1);
}

TEST_CASE("without a device, GPU scopes are plain scopes and collectors report why they do not work", "[cuda]") {
  fake = {};
  fake.has_device = false;
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::cuda_step_timer{stream});
  session.collect(profkit::cuda_memory{});
  for (profkit::step step : session) PROF_GPU_SCOPE("forward", stream);
  profkit::summary const summary = session.report().summary();
  CHECK(find_row(summary, "step/forward")->host.count == 2);
  CHECK_FALSE(find_row(summary, "step/forward")->gpu_events);
  CHECK_FALSE(summary.steps.gpu);
  CHECK(summary.memory.empty());
  CHECK(summary.quality.untimed_gpu_scopes == 2);
  for (auto const& collector : summary.collectors) {
    CHECK(collector.status == "not collected");
    CHECK(collector.reason == "cudaGetDevice: no CUDA-capable device is detected (cudaErrorNoDevice)");
  }
  CHECK(fake.last_error == cudaSuccess);
}

TEST_CASE("without a session GPU scopes make no CUDA call", "[cuda]") {
  fake = {};
  { PROF_GPU_SCOPE("forward", stream); }
  CHECK(fake.records == 0);
  CHECK(fake.events_created == 0);
}

TEST_CASE("a GPU scope without a stream is a plain scope", "[cuda]") {
  fake = {};
  profkit::session session{plain_options()};
  { PROF_GPU_SCOPE("host only", std::optional<cudaStream_t>{}); }
  { PROF_GPU_SCOPE("timed", std::optional<cudaStream_t>{stream}); }
  profkit::summary const summary = session.report().summary();
  CHECK(find_row(summary, "host only")->host.count == 1);
  CHECK_FALSE(find_row(summary, "host only")->gpu_events);
  CHECK(find_row(summary, "timed")->gpu_events);
  CHECK(summary.quality.untimed_gpu_scopes == 0);
}

TEST_CASE("a CUDA error that the program has not read yet is not cleared", "[cuda]") {
  fake = {};
  fake.lag_ms = 1000.0;
  profkit::session session{plain_options(0, 3)};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", stream);
    if (step.index() == 1) fake.last_error = cudaErrorLaunchOutOfResources;
    pass_drain_interval();
  }
  CHECK(fake.last_error == cudaErrorLaunchOutOfResources);
  fake.last_error = cudaSuccess;
  fake.now_ms += 2000.0;
  CHECK(session.report().summary().steps.gpu->count == 3);
}

TEST_CASE("GPU times that are incomplete at the end of the session are counted", "[cuda]") {
  fake = {};
  fake.lag_ms = 1e9;
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) PROF_GPU_SCOPE("forward", stream);
  fake.last_error = cudaErrorLaunchFailure;  // no more results will arrive, so there is nothing to wait for
  profkit::summary const summary = session.report().summary();
  CHECK(summary.quality.unread_gpu_times == 4);
  CHECK_FALSE(summary.steps.gpu);
  CHECK_FALSE(find_row(summary, "step/forward")->gpu_events);
  CHECK(fake.last_error == cudaErrorLaunchFailure);
}

TEST_CASE("a thread without a CUDA context gets one without breaking a capture on another thread", "[cuda]") {
  fake = {};
  profkit::session session{plain_options()};
  fake.has_context = false;
  { PROF_GPU_SCOPE("work", stream); }
  CHECK(fake.has_context);
  CHECK(fake.unsafe_queries == 0);
  CHECK(find_row(session.report().summary(), "work")->gpu_events);
}

TEST_CASE("each thread and device has its own events, which later threads reuse", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(0, 2)};
  int created = 0;
  for (profkit::step step : session) {
    std::thread{[] {
      for (int device = 0; device < 2; ++device) {
        fake.device = device;
        PROF_GPU_SCOPE("work", stream);
      }
    }}.join();
    pass_drain_interval();
    if (step.index() == 0) created = fake.events_created;
  }
  CHECK(fake.events_created == created);
  profkit::profile const profile = session.report().profile();
  REQUIRE(profile.gpu_scopes.size() == 4);
  CHECK(profile.gpu_scopes[0].device + profile.gpu_scopes[1].device == 1);
}

TEST_CASE("with steps=auto the GPU step time decides if it is longer", "[cuda]") {
  fake = {};
  profkit::options options = plain_options(2, 5);
  options.wanted_interval = 0.01;
  profkit::session session{options};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) {
    fake.now_ms += 50.0;
    pass_drain_interval();
  }
  profkit::report const report = session.report();
  REQUIRE(report.profile().stop);
  CHECK(report.profile().stop->is_of_gpu);
  CHECK(report.summary().steps.host.count >= 60);  // more if the session's thread lacks a processor
}

TEST_CASE("with steps=auto a device that lags behind is not mistaken for one without times", "[cuda]") {
  fake = {};
  fake.lag_ms = 1.0;
  profkit::options options = plain_options(0, 5);
  options.wanted_interval = 100.0;
  options.max_steps = 20;
  profkit::session session{options};
  session.collect(profkit::cuda_step_timer{stream});
  for (profkit::step step : session) PROF_SCOPE("work");  // nothing completes, because the clock is stopped
  profkit::report const report = session.report();
  CHECK(report.summary().steps.host.count == 20);
  CHECK_FALSE(report.profile().stop->reached);
}

TEST_CASE("device memory is total minus free memory, and has no peak", "[cuda]") {
  fake = {};
  profkit::session session{plain_options(0, 1)};
  session.collect(profkit::cuda_memory{});
  for (profkit::step step : session) PROF_SCOPE("work");
  profkit::summary const summary = session.report().summary();
  REQUIRE(summary.memory.size() == 1);
  CHECK(summary.memory[0].last_bytes == 400);
  CHECK(summary.memory[0].capacity_bytes == 1000);
  CHECK(summary.memory[0].quantity == "used (device-wide)");
  CHECK_FALSE(summary.memory[0].peak_bytes);
}
