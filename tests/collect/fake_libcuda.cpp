// SPDX-License-Identifier: Apache-2.0
//
// Replaces the CUDA driver, libcuda.so.1, in tests that need no GPU. FAKE_CUDA="cuInit=100" makes a function fail, see wanted_status.hpp.
// FAKE_CUDA_MEMORY_US=200: each reading of the memory takes 200 us.
#include <cuda.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

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
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(length), "imitated GPU");
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (char const* const us = std::getenv("FAKE_CUDA_MEMORY_US")) ::usleep(static_cast<unsigned>(std::atoi(us)));
  *total_bytes = std::size_t{1} << 30U;
  *free_bytes = *total_bytes / 4;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) { return *count = 2, status_of("cuDeviceGetCount"); }
/// The limits of an H100 SXM (compute capability 9.0). Source: CUDA C++ Programming Guide, "Compute capabilities".
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return *value = 9, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return *value = 1024, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return *value = 2048, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return *value = 65536, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return *value = 32, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return *value = 49152, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return *value = 233472, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return *value = 232448, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return *value = 1024, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = 132, CUDA_SUCCESS;
    default:
      return *value = 0, status_of("cuDeviceGetAttribute");
  }
}
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
