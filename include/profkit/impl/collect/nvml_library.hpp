// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <string>

#include "../../error.hpp"

namespace profkit::detail {

/// The necessary functions of NVML, opened at run time, so that programs start without a driver. They are declared here, because not every
/// CUDA toolkit contains NVML's header. Source: NVML API Reference; names and numbers are stable across versions.
class nvml_library {
 public:
  using device = void*;  ///< nvmlDevice_t
  static constexpr int success = 0;
  static constexpr int sm_clock = 1;         ///< NVML_CLOCK_SM
  static constexpr int gpu_temperature = 0;  ///< NVML_TEMPERATURE_GPU

  // The functions, named as in NVML's header.
  int (*device_by_pci_bus_id)(char const*, device*) = nullptr;
  int (*clock_info)(device, int, unsigned*) = nullptr;
  int (*max_clock_info)(device, int, unsigned*) = nullptr;
  int (*clocks_event_reasons)(device, unsigned long long*) = nullptr;
  int (*power_usage)(device, unsigned*) = nullptr;
  int (*temperature)(device, int, unsigned*) = nullptr;

  /// @throws profkit::error if NVML is missing or too old.
  nvml_library() {
    if (library_ == nullptr) throw error{"there is no NVML: libnvidia-ml.so.1, which comes with the NVIDIA driver, cannot be opened"};
    load("nvmlInit_v2", init_);
    load("nvmlShutdown", shutdown_);
    load("nvmlErrorString", error_string_);
    load("nvmlDeviceGetHandleByPciBusId_v2", device_by_pci_bus_id);
    load("nvmlDeviceGetClockInfo", clock_info);
    load("nvmlDeviceGetMaxClockInfo", max_clock_info);
    // Older drivers have only the older name.
    if (!find("nvmlDeviceGetCurrentClocksEventReasons", clocks_event_reasons)) {
      load("nvmlDeviceGetCurrentClocksThrottleReasons", clocks_event_reasons);
    }
    load("nvmlDeviceGetPowerUsage", power_usage);
    load("nvmlDeviceGetTemperature", temperature);
    check(init_(), "nvmlInit_v2");
  }

  ~nvml_library() { static_cast<void>(shutdown_()); }
  nvml_library(nvml_library const&) = delete;
  nvml_library& operator=(nvml_library const&) = delete;

  /// @throws profkit::error with NVML's description of the status and the call, unless the call succeeded.
  void check(int status, char const* call) const {
    if (status == success) return;
    char const* const words = error_string_(status);
    throw error{std::string{call} + ": " + (words == nullptr ? "unknown error" : words), status};
  }

  /// @return whether NVML has a function with this name.
  template <class Function>
  bool find(char const* name, Function*& into) const {
    into = reinterpret_cast<Function*>(::dlsym(library_, name));
    return into != nullptr;
  }

  /// @throws profkit::error if NVML has no function with this name.
  template <class Function>
  void load(char const* name, Function*& into) const {
    if (!find(name, into)) throw error{std::string{"NVML is too old: it has no "} + name};
  }

 private:
  void* library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);  ///< never closed, like the driver to which it belongs
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  char const* (*error_string_)(int) = nullptr;
};

}  // namespace profkit::detail
