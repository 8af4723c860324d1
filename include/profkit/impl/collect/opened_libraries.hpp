// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>

#include "../../error.hpp"

// Libraries that are opened at run time, so that programs start on machines without them.

namespace PROFKIT_NAMESPACE::detail {

/// The address of a function of an opened library; null if the library does not have it.
class library_function {
 public:
  /// @param library the result of `dlopen`.
  library_function(void* library, char const* name) noexcept : address_{library == nullptr ? nullptr : ::dlsym(library, name)} {}

  explicit operator bool() const noexcept { return address_ != nullptr; }

  template <class Function>
  operator Function*() const noexcept {  // NOLINT(google-explicit-constructor): a conversion is its purpose
    return reinterpret_cast<Function*>(address_);
  }

 private:
  void* address_;
};

/// The necessary functions of NVML. They are declared here, because not every CUDA toolkit contains NVML's header. Source: NVML API
/// Reference; names and numbers are stable across versions.
class nvml_library {
  void* library_ = open();  ///< never closed, like the driver to which it belongs

 public:
  using device = void*;  ///< nvmlDevice_t
  static constexpr int success = 0;
  static constexpr int sm_clock = 1;         ///< NVML_CLOCK_SM
  static constexpr int gpu_temperature = 0;  ///< NVML_TEMPERATURE_GPU

  /// @throws profkit::error if NVML is missing or too old.
  nvml_library() { check(init_(), "nvmlInit_v2"); }
  ~nvml_library() { static_cast<void>(shutdown_()); }
  nvml_library(nvml_library const&) = delete;
  nvml_library& operator=(nvml_library const&) = delete;

  /// @throws profkit::error with NVML's description of the status and the call, unless the call succeeded.
  void check(int status, char const* call) const {
    if (status == success) return;
    char const* const words = error_string_(status);
    throw error{std::string{call} + ": " + (words == nullptr ? "unknown error" : words), status};
  }

  [[nodiscard]] library_function find(char const* name) const noexcept { return {library_, name}; }
  /// @throws profkit::error if NVML has no function with this name.
  [[nodiscard]] library_function needed(char const* name) const {
    library_function const found = find(name);
    if (!found) throw error{std::string{"NVML is too old: it has no "} + name};
    return found;
  }

 private:
  int (*init_)() = needed("nvmlInit_v2");
  int (*shutdown_)() = needed("nvmlShutdown");
  char const* (*error_string_)(int) = needed("nvmlErrorString");

 public:
  // The functions, named as in NVML's header.
  int (*device_by_pci_bus_id)(char const*, device*) = needed("nvmlDeviceGetHandleByPciBusId_v2");
  int (*clock_info)(device, int, unsigned*) = needed("nvmlDeviceGetClockInfo");
  int (*max_clock_info)(device, int, unsigned*) = needed("nvmlDeviceGetMaxClockInfo");
  int (*clocks_event_reasons)(device, unsigned long long*) = find_clocks_event_reasons();
  int (*power_usage)(device, unsigned*) = needed("nvmlDeviceGetPowerUsage");
  int (*temperature)(device, int, unsigned*) = needed("nvmlDeviceGetTemperature");

 private:
  static void* open() {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw error{"there is no NVML: libnvidia-ml.so.1, which comes with the NVIDIA driver, cannot be opened"};
    return library;
  }

  /// Older drivers have only the older name.
  [[nodiscard]] decltype(clocks_event_reasons) find_clocks_event_reasons() const {
    decltype(clocks_event_reasons) const found = find("nvmlDeviceGetCurrentClocksEventReasons");
    if (found != nullptr) return found;
    return needed("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
};

/// Finds the CUDA devices that this process uses. Neither opens nor initialises the driver, so the search does not change the process. The
/// functions are declared here, because programs without the CUDA toolkit also include this header. Source: CUDA Driver API.
class devices_in_use {
 public:
  /// @return PCI bus ids by device number, for the devices with an active primary context. The CUDA runtime uses these devices.
  [[nodiscard]] std::map<std::int32_t, std::string> find() {
    std::map<std::int32_t, std::string> result;
    int count = 0;
    if (!is_loaded() || get_count_(&count) != success) return result;
    for (int device = 0; device < count; ++device) {
      unsigned flags = 0;
      int is_active = 0;
      char bus_id[32] = {};
      if (context_state_(device, &flags, &is_active) != success || is_active == 0) continue;
      if (get_bus_id_(bus_id, static_cast<int>(sizeof bus_id), device) == success) result.emplace(device, bus_id);
    }
    return result;
  }

 private:
  static constexpr int success = 0;  ///< CUDA_SUCCESS

  bool is_loaded() {
    void* const library = get_count_ == nullptr ? ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : nullptr;
    if (library != nullptr) {
      get_count_ = library_function{library, "cuDeviceGetCount"};
      context_state_ = library_function{library, "cuDevicePrimaryCtxGetState"};
      get_bus_id_ = library_function{library, "cuDeviceGetPCIBusId"};
    }
    return get_count_ != nullptr && context_state_ != nullptr && get_bus_id_ != nullptr;
  }

  int (*get_count_)(int*) = nullptr;
  int (*context_state_)(int, unsigned*, int*) = nullptr;
  int (*get_bus_id_)(char*, int, int) = nullptr;
};

}  // namespace PROFKIT_NAMESPACE::detail
