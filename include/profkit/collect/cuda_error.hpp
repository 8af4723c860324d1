// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "../profile/error.hpp"
#include "cuda_calls.hpp"

namespace profkit::detail {

/// Whether a call succeeded. Clears the error of a failed call.
inline bool succeeded(cudaError_t status) noexcept {
  if (status == cudaSuccess) return true;
  static_cast<void>(cuda.get_last_error());
  return false;
}

/// Clears the error of a failed call.
/// @throws profkit::error with the call, CUDA's description and the status, unless the call succeeded.
inline void cuda_check(cudaError_t status, char const* call) {
  if (succeeded(status)) return;
  throw error{std::string{call} + ": " + ::cudaGetErrorString(status) + " (" + ::cudaGetErrorName(status) + ")", static_cast<int>(status)};
}

/// Whether there is a CUDA error of the program that the program has not read yet. A call of profkit that fails or returns
/// cudaErrorNotReady would overwrite it.
inline bool has_unseen_cuda_error() noexcept {
  cudaError_t const status = cuda.peek_at_last_error();
  return status != cudaSuccess && status != cudaErrorNotReady;
}

/// During its lifetime, this thread may query and create events although another thread captures a stream.
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
