// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "../../profile.hpp"
#include "cuda_error.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
