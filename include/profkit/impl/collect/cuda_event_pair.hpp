// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <ratio>
#include <thread>
#include <utility>

#include "cuda_error.hpp"

namespace profkit::detail {

template <class Function>
void find_stream_call(char const* name, Function*& into) noexcept {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  constexpr unsigned version = 12000;
  cudaError_t const status = ::cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  cudaError_t const status = ::cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (succeeded(status) && found == cudaDriverEntryPointSuccess) into = reinterpret_cast<Function*>(function);
}

/// Looks up the driver functions. To be called before the functions below.
inline void find_stream_calls() noexcept {
  static bool const is_done = [] {
    find_stream_call("cuEventRecord", cuda.event_record);
    find_stream_call("cuStreamIsCapturing", cuda.stream_is_capturing);
    find_stream_call("cuCtxGetCurrent", cuda.ctx_get_current);
    find_stream_call("cuCtxPushCurrent", cuda.ctx_push_current);
    find_stream_call("cuCtxPopCurrent", cuda.ctx_pop_current);
    return true;
  }();
  static_cast<void>(is_done);
}

/// Whether the stream is being captured into a graph, so that its work does not run now. True if the stream cannot be queried.
inline bool is_capturing(cudaStream_t stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return cuda.stream_is_capturing == nullptr || cuda.stream_is_capturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// The CUDA context of the calling thread. A thread without one gets the primary context of its device, as with any runtime call. @return
/// null without a device.
inline CUcontext current_cuda_context() noexcept {
  auto const get = cuda.ctx_get_current;
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS || context != nullptr) return context;
  relaxed_capture_mode const relaxed;
  static_cast<void>(succeeded(cuda.free(nullptr)));
  return get(&context) == CUDA_SUCCESS ? context : nullptr;
}

/// Makes a context current on this thread during its lifetime. Without it, a call of the runtime on a thread that does not use CUDA would
/// create a context on device 0.
class context_guard {
 public:
  /// @param context null: no effect.
  explicit context_guard(CUcontext context) noexcept
      : is_pushed_{context != nullptr && cuda.ctx_push_current != nullptr && cuda.ctx_push_current(context) == CUDA_SUCCESS} {}
  context_guard(context_guard const&) = delete;
  context_guard& operator=(context_guard const&) = delete;
  ~context_guard() {
    CUcontext popped = nullptr;
    if (is_pushed_) static_cast<void>(cuda.ctx_pop_current(&popped));
  }

 private:
  bool is_pushed_;
};

/// Owns a CUDA event with timing, on the device that is current at construction.
class cuda_event {
 public:
  /// @throws profkit::error
  cuda_event() {
    find_stream_calls();
    cuda_check(cuda.event_create_with_flags(&event_, cudaEventDefault), "cudaEventCreateWithFlags");
  }
  cuda_event(cuda_event&& other) noexcept : event_{std::exchange(other.event_, nullptr)} {}
  cuda_event& operator=(cuda_event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  /// Failures are ignored: the driver may have shut down.
  ~cuda_event() {
    if (event_ != nullptr) static_cast<void>(succeeded(cuda.event_destroy(event_)));
  }

  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

  /// @return whether the event was recorded.
  [[nodiscard]] bool record(cudaStream_t stream) const noexcept {
    return cuda.event_record != nullptr && cuda.event_record(event_, stream) == CUDA_SUCCESS;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Two events that time a part of a stream.
struct cuda_event_pair {
  cuda_event begin;
  cuda_event end;

  enum class state { pending, ready, failed };

  /// Never blocks. `duration` is set when ready. Resolution about 0.5 microseconds (CUDA runtime API, `cudaEventElapsedTime`).
  [[nodiscard]] state query(std::chrono::nanoseconds& duration) const noexcept {
    cudaError_t const status = cuda.event_query(end.get());
    float elapsed = 0.0F;
    if (status == cudaSuccess && cuda.event_elapsed_time(&elapsed, begin.get(), end.get()) == cudaSuccess) {
      duration = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<float, std::milli>{elapsed});
      return state::ready;
    }
    static_cast<void>(cuda.get_last_error());  // cudaErrorNotReady also becomes the last error
    return status == cudaErrorNotReady ? state::pending : state::failed;
  }
};

/// Calls `poll` until nothing is pending, for at most 5 seconds. Used at the end of a session, when the host may be ahead of the device.
/// Does not synchronise the device.
template <class Poll>
void poll_at_end(Poll&& poll) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
  while (!has_unseen_cuda_error() && poll() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
}

}  // namespace profkit::detail
