// SPDX-License-Identifier: Apache-2.0
//
// The GPU timers on a real device.
#include <profkit/cuda.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "../support/profile_of.hpp"
#include "gpu_support.hpp"
#include "kernels.hpp"

namespace {

void launch_busy(int ms, cudaStream_t stream) {
  start_busy(1, 1, stream, static_cast<std::uint64_t>(ms) * 1'000'000U);
  check(cudaGetLastError());
}

/// Work that is not complete when the step ends, so that querying its events returns "not ready", which is an error code.
void launch_slowly(cudaStream_t stream) {
  start_busy(1, 1, stream, std::uint64_t{40'000'000});
  std::this_thread::sleep_for(std::chrono::milliseconds{11});
}

void need_running_gpu() {
  need_gpu();
  check(cudaFree(nullptr));
}

double gpu_ms(profkit::summary const& summary, char const* path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  if (row == nullptr || !row->gpu_events) throw std::runtime_error{std::string{path} + " has no GPU time"};
  return row->gpu_events->total.count();
}

/// The number of events that profkit has created since `count_events` was constructed.
class count_events {
 public:
  count_events() {
    count = 0;
    profkit::detail::cuda.event_create_with_flags = [](cudaEvent_t* event, unsigned flags) {
      ++count;
      return ::cudaEventCreateWithFlags(event, flags);
    };
  }
  ~count_events() { profkit::detail::cuda.event_create_with_flags = ::cudaEventCreateWithFlags; }
  count_events(count_events const&) = delete;
  count_events& operator=(count_events const&) = delete;

  inline static std::uint64_t count = 0;
};

/// Current resident bytes of this process.
std::uint64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) throw std::runtime_error{"no /proc/self/statm"};
  unsigned long size = 0;
  unsigned long resident = 0;
  bool const was_read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
  std::fclose(file);
  if (!was_read) throw std::runtime_error{"/proc/self/statm has no numbers"};
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t device_bytes_in_use() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  return total - free;
}

}  // namespace

TEST_CASE("a kernel is timed in the scope on its stream and not in the scope on another stream", "[gpu]") {
  need_running_gpu();
  stream const busy_stream;
  stream const idle_stream;
  launch_busy(1, busy_stream.handle);
  check(cudaDeviceSynchronize());
  profkit::session session{plain_options()};
  {
    PROF_GPU_SCOPE("idle", idle_stream.handle);
    PROF_GPU_SCOPE("busy", busy_stream.handle);
    launch_busy(50, busy_stream.handle);
  }
  profkit::summary const summary = session.report().summary();
  CHECK(gpu_ms(summary, "idle/busy") >= 50.0);
  CHECK(gpu_ms(summary, "idle/busy") < 60.0);
  CHECK(gpu_ms(summary, "idle") < 10.0);
}

TEST_CASE("recording never waits for the device", "[gpu]") {
  need_running_gpu();
  stream const work;
  profkit::session session{plain_options(0, 10)};
  session.collect(profkit::cuda_step_timer{work.handle});
  auto const begin = std::chrono::steady_clock::now();
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", work.handle);
    launch_busy(50, work.handle);
  }
  auto const host_time = std::chrono::steady_clock::now() - begin;
  CHECK(host_time < std::chrono::milliseconds{400});  // the device takes 500
  profkit::summary const summary = session.report().summary();
  CHECK(summary.steps.gpu->count == 10);
  CHECK(summary.steps.gpu->min->count() >= 50.0);
  CHECK(summary.steps.gpu->max->count() < 60.0);
  CHECK(summary.quality.unread_gpu_times == 0);
}

TEST_CASE("a capture is not disturbed, and captured scopes have no time", "[gpu]") {
  need_running_gpu();
  stream const work;
  stream const captured;
  profkit::session session{plain_options(0, 4)};
  session.collect(profkit::cuda_step_timer{work.handle});
  cudaGraph_t graph = nullptr;
  for (profkit::step step : session) {
    // Global mode: a forbidden call on any thread would end the capture. It spans steps 1 and 2 including their draining.
    if (step.index() == 1) check(cudaStreamBeginCapture(captured.handle, cudaStreamCaptureModeGlobal));
    if (step.index() == 1 || step.index() == 2) {
      PROF_GPU_SCOPE("captured", captured.handle);
      launch_busy(1, captured.handle);
    }
    {
      PROF_GPU_SCOPE("timed", work.handle);
      launch_busy(20, work.handle);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    if (step.index() == 2) check(cudaStreamEndCapture(captured.handle, &graph));
  }
  profkit::summary const summary = session.report().summary();
  REQUIRE(graph != nullptr);
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 2);  // the kernels, no event
  check(cudaGraphDestroy(graph));
  CHECK(find_row(summary, "step/captured")->host.count == 2);
  CHECK_FALSE(find_row(summary, "step/captured")->gpu_events);
  CHECK(find_row(summary, "step/timed")->gpu_events->count == 4);
  CHECK(summary.steps.gpu->count == 4);
  CHECK(summary.quality.untimed_gpu_scopes == 2);
}

TEST_CASE("device memory grows by an allocation", "[gpu]") {
  need_running_gpu();
  constexpr std::size_t bytes = 256U << 20U;
  profkit::session session{plain_options(0, 2)};
  session.collect(profkit::cuda_memory{});
  void* block = nullptr;
  for (profkit::step step : session) {
    if (step.index() == 1) check(cudaMalloc(&block, bytes));
  }
  check(cudaFree(block));
  profkit::summary const summary = session.report().summary();
  REQUIRE(summary.memory.size() == 1);
  CHECK(summary.memory[0].last_bytes - summary.memory[0].first_bytes >= bytes);
  CHECK_FALSE(summary.environment.gpu.empty());
}

TEST_CASE("a CUDA error of the program is still set after a step", "[gpu]") {
  need_running_gpu();
  stream const work;
  profkit::session session{plain_options(0, 3)};
  session.collect(profkit::cuda_step_timer{work.handle});
  cudaError_t own = cudaSuccess;
  for (profkit::step step : session) {
    PROF_GPU_SCOPE("forward", work.handle);
    if (step.index() == 1) {
      start_busy(1, 4096, work.handle, 1);  // too many threads in a block
      own = cudaPeekAtLastError();
    }
    launch_slowly(work.handle);
  }
  REQUIRE(own != cudaSuccess);
  CHECK(cudaGetLastError() == own);
}

TEST_CASE("a busy device reports its clocks and its power", "[gpu]") {
  need_running_gpu();
  stream const work_stream;
  profkit::session session{plain_options(1, 10)};
  session.collect(profkit::cuda_step_timer{work_stream.handle});
  profkit::collector const& clocks = session.collect(profkit::gpu_clocks{});
  if (!clocks.status().works) SKIP(clocks.status().reason);
  for (profkit::step step : session) {
    launch_busy(20, work_stream.handle);
    check(cudaStreamSynchronize(work_stream.handle));
  }
  profkit::step_summary const steps = session.report().summary().steps;
  CHECK(steps.gpu_verdict->measured == 10);
  REQUIRE(steps.clocks.size() == 1);
  CHECK(steps.clocks[0].readings >= 1);
  CHECK(steps.clocks[0].min_mhz >= 100);
  CHECK(steps.clocks[0].max_mhz <= steps.clocks[0].device_max_mhz);
  CHECK(steps.clocks[0].device_max_mhz < 10'000);
  CHECK(steps.clocks[0].max_watt.value_or(1.0) > 0.0);
  CHECK(steps.clocks[0].max_celsius.value_or(50) < 150U);
}

TEST_CASE("a million GPU scopes create events for a few steps only, and memory grows only by their records", "[gpu]") {
  need_running_gpu();
  constexpr std::uint64_t steps = 1000;
  constexpr std::uint64_t scopes_per_step = 1000;
  constexpr std::uint64_t first_steps = 20;
  stream const work;
  profkit::options options = plain_options(0, steps);
  options.max_records = 4 * steps * scopes_per_step;
  profkit::session session{options};
  count_events const events;
  std::uint64_t events_after_first = 0;
  std::uint64_t resident_after_first = 0;
  std::size_t device_after_first = 0;
  for (profkit::step const step : session) {
    if (step.index() == first_steps) {
      events_after_first = count_events::count;
      resident_after_first = resident_bytes();
      device_after_first = device_bytes_in_use();
    }
    for (std::uint64_t i = 0; i < scopes_per_step; ++i) PROF_GPU_SCOPE("scope", work.handle);
    check(cudaStreamSynchronize(work.handle));
    // Longer than the shortest time between two drains, so that each step finds the events of earlier steps.
    std::this_thread::sleep_for(std::chrono::milliseconds{11});
  }
  std::uint64_t const resident_at_end = resident_bytes();
  CHECK(events_after_first > 0);  // other tests may have left some
  // The session's thread may sometimes be late; then more steps wait for their times. A million scopes would have two million events.
  CHECK(count_events::count <= 4 * events_after_first);
  // The driver's usage may change by some pages; an event or a buffer per scope would be more.
  CHECK(device_bytes_in_use() <= device_after_first + (std::size_t{2} << 20U));
  // A scope has a scope_record and a gpu_scope_record. Their lists double, and both copies exist meanwhile. In addition, 16 MiB of the log
  // stay resident once written.
  std::uint64_t const records = steps * scopes_per_step * (sizeof(profkit::scope_record) + sizeof(profkit::gpu_scope_record));
  CHECK(resident_at_end <= resident_after_first + 3 * records + (std::uint64_t{32} << 20U));
  profkit::profile const& profile = session.report().profile();
  CHECK(profile.gpu_scopes.size() == steps * scopes_per_step);
  CHECK(profile.quality.untimed_gpu_scopes == 0);
  CHECK(profile.quality.unread_gpu_times == 0);
  CHECK(profile.quality.dropped_events == 0);
}
