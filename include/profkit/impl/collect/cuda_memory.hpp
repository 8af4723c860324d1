// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "../../memory_source.hpp"
#include "cuda_environment.hpp"
#include "cuda_error.hpp"

namespace profkit {

/// @brief Memory in use on the current device, by all processes, read after each step. The report shows the maximum of these readings,
/// because the device does not record a peak. Source: `cudaMemGetInfo`, which covers the whole device. Does not synchronise the device.
class cuda_memory final : public memory_source {
 public:
  /// @brief "cuda device".
  [[nodiscard]] std::string_view name() const noexcept override { return "cuda device"; }

  /// @brief Describes the current device.
  /// @throws profkit::error if there is no usable device.
  void start(profile_builder& into) override { detail::describe_cuda(into.environment()); }

  /// @brief Reads the current device.
  /// @throws profkit::error if the device cannot be queried.
  [[nodiscard]] std::vector<memory_reading> read() override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    detail::cuda_check(detail::cuda.mem_get_info(&free_bytes, &total_bytes), "cudaMemGetInfo");
    return {{"used (device-wide)", total_bytes - free_bytes, std::nullopt, {}, total_bytes}};
  }

  /// @brief Polls the device that is current on the scope's thread. Costs a driver call at both ends of a scope: tens of microseconds or
  /// more.
  [[nodiscard]] polled_allocator at_scopes() const noexcept override {
    static site source{"cuda device", __FILE__, __LINE__};
    return {&source, detail::used_device_memory};
  }
};

}  // namespace profkit
