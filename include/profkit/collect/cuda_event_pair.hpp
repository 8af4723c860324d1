// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <ratio>
#include <thread>
#include <utility>

#include "cuda_error.hpp"
#include "cuda_stream_calls.hpp"

namespace profkit::detail {

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
