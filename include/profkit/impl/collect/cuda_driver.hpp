// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <string>
#include <utility>

#include "../../error.hpp"

namespace profkit::detail {

/// The functions of the CUDA driver that collectors need. Opened at run time, so that programs start on machines without a driver.
class cuda_driver {
 public:
  /// Opens and initialises the driver. A tool that started the program, such as Nsight Systems, attaches to CUPTI when CUDA is initialised.
  /// So another tool can be detected afterwards.
  /// @throws profkit::error if there is no driver, or no device.
  cuda_driver() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw error{"there is no CUDA driver: libcuda.so.1 cannot be opened"};
    load(library, "cuInit", init_);
    load(library, "cuGetErrorName", get_error_name_);
    load(library, "cuDeviceGetCount", device_get_count_);
    load(library, "cuDevicePrimaryCtxGetState", primary_context_state_);
    load(library, "cuDevicePrimaryCtxRetain", primary_context_retain_);
    load(library, "cuDevicePrimaryCtxRelease_v2", primary_context_release_);
    load(library, "cuCtxPushCurrent_v2", push_context_);
    load(library, "cuCtxPopCurrent_v2", pop_context_);
    load(library, "cuCtxSynchronize", synchronize_);
    load(library, "cuThreadExchangeStreamCaptureMode", exchange_capture_mode_);
    check(init_(0), "cuInit");
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

 private:
  template <class Function>
  static void load(void* library, char const* name, Function*& into) {
    into = reinterpret_cast<Function*>(::dlsym(library, name));
    if (into == nullptr) throw error{std::string{"the CUDA driver has no "} + name};
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

  CUresult (*init_)(unsigned) = nullptr;
  CUresult (*get_error_name_)(CUresult, char const**) = nullptr;
  CUresult (*device_get_count_)(int*) = nullptr;
  CUresult (*primary_context_state_)(CUdevice, unsigned*, int*) = nullptr;
  CUresult (*primary_context_retain_)(CUcontext*, CUdevice) = nullptr;
  CUresult (*primary_context_release_)(CUdevice) = nullptr;
  CUresult (*push_context_)(CUcontext) = nullptr;
  CUresult (*pop_context_)(CUcontext*) = nullptr;
  CUresult (*synchronize_)() = nullptr;
  CUresult (*exchange_capture_mode_)(CUstreamCaptureMode*) = nullptr;
};

}  // namespace profkit::detail
