// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "opened_libraries.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

  bool is_initialised = false;  ///< `cuInit` must not be called: it runs, and has called this code
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

/// `13000` -> "13.0"
inline std::string cuda_version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

/// Describes the current device. Initialises CUDA on it if necessary.
/// @return the current device.
/// @throws profkit::error if there is no usable device or driver.
inline int describe_cuda(environment_record& into) {
  int device = 0;
  int driver = 0;
  int runtime = 0;
  cudaDeviceProp properties{};
  cuda_check(cuda.get_device(&device), "cudaGetDevice");
  cuda_check(cuda.get_device_properties(&properties, device), "cudaGetDeviceProperties");
  cuda_check(cuda.driver_get_version(&driver), "cudaDriverGetVersion");
  cuda_check(cuda.runtime_get_version(&runtime), "cudaRuntimeGetVersion");
  into.gpu = properties.name;
  into.driver = cuda_version_text(driver);
  into.cuda = cuda_version_text(runtime);
  return device;
}

/// Memory in use on the current device, by all processes, in bytes; 0 if it cannot be queried.
inline std::uint64_t used_device_memory() noexcept {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  return succeeded(cuda.mem_get_info(&free_bytes, &total_bytes)) ? total_bytes - free_bytes : 0;
}

/// The functions of the CUDA driver that collectors need. Opened at run time, so that programs start on machines without a driver.
class cuda_driver {
 public:
  /// Opens and initialises the driver. A tool that started the program, such as Nsight Systems, attaches to CUPTI when CUDA is initialised.
  /// So another tool can be detected afterwards.
  /// @throws profkit::error if there is no driver, or no device.
  cuda_driver() {
    if (!cuda.is_initialised) check(init_(0), "cuInit");
  }

  /// Synchronises every device that the CUDA runtime uses in this process.
  void synchronize_devices() const noexcept {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;  // keeps a stream capture on another thread valid
    bool const has_exchanged = exchange_capture_mode_(&mode) == CUDA_SUCCESS;
    int devices = 0;
    if (device_get_count_(&devices) != CUDA_SUCCESS) devices = 0;
    for (CUdevice device = 0; device < devices; ++device) synchronize(device);
    if (has_exchanged) static_cast<void>(exchange_capture_mode_(&mode));
  }

  /// An attribute of a device; 0 if the driver does not know it. Does not initialise a context.
  [[nodiscard]] int attribute(CUdevice device, CUdevice_attribute which) const noexcept {
    int value = 0;
    return device_get_attribute_(&value, which, device) == CUDA_SUCCESS ? value : 0;
  }

 private:
  static void* open() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw error{"there is no CUDA driver: libcuda.so.1 cannot be opened"};
    return library;
  }

  [[nodiscard]] library_function needed(char const* name) const {
    library_function const found{library_, name};
    if (!found) throw error{std::string{"the CUDA driver has no "} + name};
    return found;
  }

  void check(CUresult status, char const* call) const {
    if (status == CUDA_SUCCESS) return;
    char const* name = nullptr;
    if (get_error_name_(status, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
    throw error{std::string{call} + ": " + name, static_cast<int>(status)};
  }

  void synchronize(CUdevice device) const noexcept {
    unsigned flags = 0;
    int is_active = 0;
    CUcontext context = nullptr;
    if (primary_context_state_(device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0) return;
    if (primary_context_retain_(&context, device) != CUDA_SUCCESS) return;
    if (push_context_(context) == CUDA_SUCCESS) {
      static_cast<void>(synchronize_());
      static_cast<void>(pop_context_(&context));
    }
    static_cast<void>(primary_context_release_(device));
  }

  void* library_ = open();
  CUresult (*init_)(unsigned) = needed("cuInit");
  CUresult (*get_error_name_)(CUresult, char const**) = needed("cuGetErrorName");
  CUresult (*device_get_count_)(int*) = needed("cuDeviceGetCount");
  CUresult (*device_get_attribute_)(int*, CUdevice_attribute, CUdevice) = needed("cuDeviceGetAttribute");
  CUresult (*primary_context_state_)(CUdevice, unsigned*, int*) = needed("cuDevicePrimaryCtxGetState");
  CUresult (*primary_context_retain_)(CUcontext*, CUdevice) = needed("cuDevicePrimaryCtxRetain");
  CUresult (*primary_context_release_)(CUdevice) = needed("cuDevicePrimaryCtxRelease_v2");
  CUresult (*push_context_)(CUcontext) = needed("cuCtxPushCurrent_v2");
  CUresult (*pop_context_)(CUcontext*) = needed("cuCtxPopCurrent_v2");
  CUresult (*synchronize_)() = needed("cuCtxSynchronize");
  CUresult (*exchange_capture_mode_)(CUstreamCaptureMode*) = needed("cuThreadExchangeStreamCaptureMode");
};

}  // namespace PROFKIT_NAMESPACE::detail
