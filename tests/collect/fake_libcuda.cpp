// SPDX-License-Identifier: Apache-2.0
//
// Replaces the CUDA driver, libcuda.so.1, in tests that need no GPU. FAKE_CUDA="cuInit=100" makes a function fail, see wanted_status.hpp.
#include <cuda.h>

#include <cstddef>
#include <cstdio>

#include "wanted_status.hpp"

namespace {

CUresult status_of(char const* function) { return static_cast<CUresult>(wanted_status("FAKE_CUDA", function)); }

}  // namespace

extern "C" {

#undef cuDevicePrimaryCtxRelease
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent

/// Number of device synchronisations.
int fake_cuda_synchronisations = 0;

CUresult cuInit(unsigned) { return status_of("cuInit"); }
CUresult cuGetErrorName(CUresult status, char const** name) {
  *name = status == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) { return *count = 2, status_of("cuDeviceGetCount"); }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned*, int* active) {
  *active = device == 0 ? 1 : 0;  // the second device is unused and must stay so
  return status_of("cuDevicePrimaryCtxGetState");
}
CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  std::snprintf(bus_id, static_cast<std::size_t>(length), "0000:1%c:00.0", device == 0 ? 'B' : 'C');
  return status_of("cuDeviceGetPCIBusId");
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = nullptr;
  return device == 0 ? status_of("cuDevicePrimaryCtxRetain") : CUDA_ERROR_UNKNOWN;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return status_of("cuDevicePrimaryCtxRelease"); }
CUresult cuCtxPushCurrent_v2(CUcontext) { return status_of("cuCtxPushCurrent"); }
CUresult cuCtxPopCurrent_v2(CUcontext*) { return status_of("cuCtxPopCurrent"); }
CUresult cuCtxSynchronize() { return ++fake_cuda_synchronisations, status_of("cuCtxSynchronize"); }
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return status_of("cuThreadExchangeStreamCaptureMode"); }

}  // extern "C"
