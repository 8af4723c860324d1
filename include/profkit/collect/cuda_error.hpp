// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "../profile/error.hpp"
#include "cuda_calls.hpp"

namespace profkit::detail {

/// Clears the error of a call that failed.
inline bool succeeded(cudaError_t status) noexcept {
  if (status == cudaSuccess) return true;
  static_cast<void>(cuda.get_last_error());
  return false;
}

/// @throws profkit::error with the status, the call and CUDA's own words, unless the call succeeded. Clears the error.
inline void cuda_check(cudaError_t status, char const* call) {
  if (succeeded(status)) return;
  throw error{std::string{call} + ": " + ::cudaGetErrorString(status) + " (" + ::cudaGetErrorName(status) + ")", static_cast<int>(status)};
}

/// Whether the program has an error of its own that it has not looked at yet. A failing call of ours, or one that is merely not
/// ready, would take its place.
inline bool has_unseen_cuda_error() noexcept {
  cudaError_t const status = cuda.peek_at_last_error();
  return status != cudaSuccess && status != cudaErrorNotReady;
}

/// While it lives, calls of this thread that a capture elsewhere would forbid (querying and creating events) are allowed.
/// Source: CUDA runtime API, `cudaThreadExchangeStreamCaptureMode`.
class relaxed_capture_mode {
 public:
  relaxed_capture_mode() noexcept { exchange(); }
  ~relaxed_capture_mode() { exchange(); }
  relaxed_capture_mode(relaxed_capture_mode const&) = delete;
  relaxed_capture_mode& operator=(relaxed_capture_mode const&) = delete;

 private:
  void exchange() noexcept { static_cast<void>(succeeded(cuda.thread_exchange_stream_capture_mode(&mode_))); }

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace profkit::detail
