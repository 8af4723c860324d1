// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

/// The state of the imitated CUDA runtime.
struct fake_cuda {
  bool has_device = true;
  bool has_context = true;  ///< whether the calling thread has a context; a runtime call creates one
  CUresult record_status = CUDA_SUCCESS;
  int device = 0;
  double now_ms = 0.0;
  double lag_ms = 0.0;  ///< from recording an event to its completion
  bool is_capturing = false;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

  int events_created = 0;
  int records = 0;
  int records_in_capture = 0;
  int unsafe_queries = 0;  ///< queries that would invalidate a capture on another thread
  int synchronisations = 0;
};

extern fake_cuda fake;
