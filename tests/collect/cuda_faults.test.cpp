// SPDX-License-Identifier: Apache-2.0
//
// Sessions in which one CUDA function fails, with every documented code, from the first call, from the middle or at the last call.
#include <profkit/cuda.hpp>
#include <profkit/report.hpp>
#include <profkit/session.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../support/profile_of.hpp"
#include "../support/repetitions.hpp"
#include "fake_cudart.hpp"

namespace {

using profkit::detail::cuda;
using profkit::detail::cuda_calls;

/// The behaviour of the replaced function.
struct fault {
  int status = 0;
  int good_calls = 0;  ///< number of calls before the first that fails
  int calls = 0;
};
fault now{};

/// A replacement that counts its calls and fails at the chosen one.
template <auto Member>
struct faulty;

template <class Status, class... Arguments, Status (*cuda_calls::*Member)(Arguments...)>
struct faulty<Member> {
  static inline Status (*real)(Arguments...) = nullptr;

  static Status call(Arguments... arguments) {
    if (now.calls++ < now.good_calls) return real(arguments...);
    if constexpr (std::is_same_v<Status, cudaError_t>) fake.last_error = static_cast<cudaError_t>(now.status);  // as the runtime does
    return static_cast<Status>(now.status);
  }
  static void put() {
    real = cuda.*Member;
    cuda.*Member = call;
  }
  static void take_out() { cuda.*Member = real; }
};

struct function {
  char const* name;
  void (*put)();
  void (*take_out)();
  bool is_of_driver;
};

template <auto Member>
function named(char const* name, bool is_of_driver = false) {
  return {name, faulty<Member>::put, faulty<Member>::take_out, is_of_driver};
}

std::vector<function> functions() {
  return {named<&cuda_calls::free>("cudaFree"),
          named<&cuda_calls::get_device>("cudaGetDevice"),
          named<&cuda_calls::get_device_properties>("cudaGetDeviceProperties"),
          named<&cuda_calls::device_get_pci_bus_id>("cudaDeviceGetPCIBusId"),
          named<&cuda_calls::driver_get_version>("cudaDriverGetVersion"),
          named<&cuda_calls::runtime_get_version>("cudaRuntimeGetVersion"),
          named<&cuda_calls::mem_get_info>("cudaMemGetInfo"),
          named<&cuda_calls::event_create_with_flags>("cudaEventCreateWithFlags"),
          named<&cuda_calls::event_destroy>("cudaEventDestroy"),
          named<&cuda_calls::event_query>("cudaEventQuery"),
          named<&cuda_calls::event_elapsed_time>("cudaEventElapsedTime"),
          named<&cuda_calls::thread_exchange_stream_capture_mode>("cudaThreadExchangeStreamCaptureMode"),
          named<&cuda_calls::event_record>("cuEventRecord", true),
          named<&cuda_calls::stream_is_capturing>("cuStreamIsCapturing", true),
          named<&cuda_calls::ctx_get_current>("cuCtxGetCurrent", true)};
}

std::vector<int> const runtime_codes{cudaErrorInvalidValue,
                                     cudaErrorMemoryAllocation,
                                     cudaErrorInitializationError,
                                     cudaErrorCudartUnloading,
                                     cudaErrorInsufficientDriver,
                                     cudaErrorDevicesUnavailable,
                                     cudaErrorNoDevice,
                                     cudaErrorInvalidDevice,
                                     cudaErrorDeviceUninitialized,
                                     cudaErrorInvalidResourceHandle,
                                     cudaErrorIllegalAddress,
                                     cudaErrorContextIsDestroyed,
                                     cudaErrorLaunchFailure,
                                     cudaErrorNotSupported,
                                     cudaErrorStreamCaptureUnsupported,
                                     cudaErrorStreamCaptureInvalidated,
                                     cudaErrorStreamCaptureImplicit,
                                     cudaErrorUnknown};
std::vector<int> const driver_codes{CUDA_ERROR_INVALID_VALUE,        CUDA_ERROR_NOT_INITIALIZED,         CUDA_ERROR_DEINITIALIZED,
                                    CUDA_ERROR_INVALID_CONTEXT,      CUDA_ERROR_INVALID_HANDLE,          CUDA_ERROR_LAUNCH_FAILED,
                                    CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_ERROR_UNKNOWN};

constexpr std::uint64_t steps = 4;
cudaStream_t const stream = nullptr;

/// Runs a session with all collectors that use CUDA, including one on a thread without a context.
/// @return its profile.
profkit::summary run_session() {
  int const device = fake.device;
  profkit::session session{plain_options(0, steps)};
  session.collect(profkit::cuda_step_timer{stream});
  session.collect(profkit::cuda_memory{});
  session.collect(profkit::gpu_clocks{});
  for (profkit::step const step : session) {
    PROF_GPU_SCOPE("forward", stream);
    std::thread{[&] {
      fake.device = device + 1000 + static_cast<int>(step.index());  // its events are created
      fake.has_context = false;
      PROF_GPU_SCOPE("other", stream);
    }}.join();
    fake.device = device;
    fake.now_ms += 1.0;
  }
  return session.report().summary();
}

std::size_t count_of_times(profkit::summary const& summary, char const* path) {
  profkit::scope_summary const* const row = find_row(summary, path);
  return row == nullptr || !row->gpu_events ? 0 : row->gpu_events->count;
}

/// Missing data must be reported as missing. Does not use Catch2 macros, because it runs thousands of times.
std::string complaint(profkit::summary const& summary) {
  for (char const* const path : {"step/forward", "other"}) {
    profkit::scope_summary const* const row = find_row(summary, path);
    if (row == nullptr || row->host.count != steps) return std::string{"a scope is lost: "} + path;
  }
  std::size_t const timed = count_of_times(summary, "step/forward") + count_of_times(summary, "other");
  if (timed + summary.quality.untimed_gpu_scopes + summary.quality.unread_gpu_times < 2 * steps)
    return "a GPU time is missing, and nothing says so";
  for (auto const& collector : summary.collectors) {
    if (collector.name == "cuda step timer" && collector.reason.empty() && (!summary.steps.gpu || summary.steps.gpu->count < steps) &&
        summary.quality.unread_gpu_times == 0)
      return "the time of a step is missing, and nothing says so";
    if (collector.name == "cuda device" && collector.reason.empty() && summary.memory.empty())
      return "memory is missing, and nothing says so";
  }
  return {};
}

}  // namespace

TEST_CASE("if any CUDA function fails at any time, the program continues and the report states which data are missing", "[cuda]") {
  fake = {};
  static_cast<void>(run_session());  // finds the functions of the driver
  int last_device = 0;
  for (function const& each : functions()) {
    each.put();
    now = {0, 1'000'000, 0};
    fake = {};
    fake.device = ++last_device;  // a new device number, so that events are created again
    static_cast<void>(run_session());
    int const calls = now.calls;
    auto const& codes = each.is_of_driver ? driver_codes : runtime_codes;
    for (std::size_t i = 0; i < codes.size(); i += stride) {
      int const status = codes[i];
      for (int const good_calls : {0, calls / 2, calls - 1}) {
        now = {status, good_calls < 0 ? 0 : good_calls, 0};
        fake = {};
        fake.device = ++last_device;
        INFO(each.name << " fails with " << status << " after " << now.good_calls << " of " << calls << " calls");
        std::string const wrong = complaint(run_session());
        REQUIRE(wrong == "");
        REQUIRE(fake.last_error == cudaSuccess);
      }
    }
    each.take_out();
  }
}
