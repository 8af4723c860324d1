// SPDX-License-Identifier: Apache-2.0
#include "fake_cudart.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <utility>

// Imitates the CUDA runtime functions that profkit calls, and the driver functions that it looks up through the runtime, with a clock that
// the test sets. Work on a stream completes when the test says so. Device `device` exists; no other part of a GPU is imitated.

fake_cuda fake{};

struct CUevent_st {
  double recorded_ms = 0.0;
  double due_ms = 0.0;
  bool is_recorded = false;
};

namespace {

/// Events that were not destroyed, because a test made that fail.
std::unordered_set<CUevent_st*>& living_events() {
  static auto* const events = new std::unordered_set<CUevent_st*>;
  return *events;
}

cudaError_t returned(cudaError_t status) {
  if (status != cudaSuccess) fake.last_error = status;
  return status;
}

CUresult record_event(CUevent event, CUstream) {
  if (fake.is_capturing) ++fake.records_in_capture;
  ++fake.records;
  *event = {fake.now_ms, fake.now_ms + fake.lag_ms, true};
  return fake.record_status;
}
CUresult ask_capturing(CUstream, CUstreamCaptureStatus* status) {
  *status = fake.is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return fake.has_device ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}
CUresult get_current_context(CUcontext* context) {
  *context = fake.has_context ? reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(fake.device) + 1) : nullptr;
  return fake.has_device ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  cudaError_t const result = fake.last_error;
  fake.last_error = cudaSuccess;
  return result;
}
cudaError_t cudaPeekAtLastError() { return fake.last_error; }
char const* cudaGetErrorString(cudaError_t) { return "no CUDA-capable device is detected"; }
char const* cudaGetErrorName(cudaError_t) { return "cudaErrorNoDevice"; }

cudaError_t cudaGetDevice(int* device) {
  *device = fake.device;
  return returned(fake.has_device ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::strcpy(properties->name, "fake GPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int size, int) {
  std::strncpy(bus_id, "0000:1B:00.0", static_cast<std::size_t>(size));
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = 600;
  *total_bytes = 1000;
  return returned(fake.has_device ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, fake.capture_mode);
  return cudaSuccess;
}
cudaError_t cudaFree(void*) {
  fake.has_context = fake.has_device;
  if (fake.capture_mode != cudaStreamCaptureModeRelaxed) ++fake.unsafe_queries;
  return returned(fake.has_device ? cudaSuccess : cudaErrorNoDevice);
}
cudaError_t cudaGetDriverEntryPointByVersion(char const* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  std::string_view const wanted{name};
  if (wanted == "cuEventRecord") *function = reinterpret_cast<void*>(record_event);
  if (wanted == "cuStreamIsCapturing") *function = reinterpret_cast<void*>(ask_capturing);
  if (wanted == "cuCtxGetCurrent") *function = reinterpret_cast<void*>(get_current_context);
  *found = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (!fake.has_device) return returned(cudaErrorNoDevice);
  *event = *living_events().insert(new CUevent_st).first;
  ++fake.events_created;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  living_events().erase(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (fake.capture_mode != cudaStreamCaptureModeRelaxed) ++fake.unsafe_queries;
  return returned(event->is_recorded && fake.now_ms >= event->due_ms ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = static_cast<float>(end->recorded_ms - begin->recorded_ms);
  return cudaSuccess;
}

// Functions that profkit must never call while recording.
cudaError_t cudaEventSynchronize(cudaEvent_t) { return ++fake.synchronisations, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return ++fake.synchronisations, cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return ++fake.synchronisations, cudaSuccess; }

}  // extern "C"
