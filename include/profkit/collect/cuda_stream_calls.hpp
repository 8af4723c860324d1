// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "cuda_error.hpp"

namespace profkit::detail {

/// The functions of the CUDA driver that a GPU scope and a timed step call: on an H200 host two events take 0.89 of the time that they take
/// through the runtime, and the questions beside them a quarter; and they leave the runtime's last error alone. The runtime gives those for
/// its own default stream. Null before `find_stream_calls`, and without a driver.
struct cuda_stream_calls {
  CUresult (*record_event)(CUevent, CUstream);
  CUresult (*ask_capturing)(CUstream, CUstreamCaptureStatus*);
  CUresult (*get_current_context)(CUcontext*);
};

inline cuda_stream_calls stream_calls{};

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
  if (status != cudaSuccess) static_cast<void>(::cudaGetLastError());
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) into = reinterpret_cast<Function*>(function);
}

/// To be called on a thread before it uses the others.
inline void find_stream_calls() noexcept {
  static bool const is_done = [] {
    find_stream_call("cuEventRecord", stream_calls.record_event);
    find_stream_call("cuStreamIsCapturing", stream_calls.ask_capturing);
    find_stream_call("cuCtxGetCurrent", stream_calls.get_current_context);
    return true;
  }();
  static_cast<void>(is_done);
}

/// Whether work on the stream is being captured into a graph, so that it does not run now. A stream that cannot be asked counts.
inline bool is_capturing(cudaStream_t stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return stream_calls.ask_capturing == nullptr || stream_calls.ask_capturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Of the calling thread. A thread that has none gets that of its device, as with any call of the runtime. @return null without a device.
inline CUcontext current_cuda_context() noexcept {
  auto const get = stream_calls.get_current_context;
  CUcontext context = nullptr;
  if (get == nullptr || get(&context) != CUDA_SUCCESS || context != nullptr) return context;
  relaxed_capture_mode const relaxed;
  if (::cudaFree(nullptr) != cudaSuccess) static_cast<void>(::cudaGetLastError());
  return get(&context) == CUDA_SUCCESS ? context : nullptr;
}

}  // namespace profkit::detail
