// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>

namespace profkit::detail {

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
    if (get_bus_id_ != nullptr) return true;
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return library != nullptr && find(library, "cuDeviceGetCount", get_count_) &&
           find(library, "cuDevicePrimaryCtxGetState", context_state_) && find(library, "cuDeviceGetPCIBusId", get_bus_id_);
  }

  template <class Function>
  static bool find(void* library, char const* name, Function*& into) {
    into = reinterpret_cast<Function*>(::dlsym(library, name));
    return into != nullptr;
  }

  int (*get_count_)(int*) = nullptr;
  int (*context_state_)(int, unsigned*, int*) = nullptr;
  int (*get_bus_id_)(char*, int, int) = nullptr;
};

}  // namespace profkit::detail
