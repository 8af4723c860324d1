// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "made_collector.hpp"
#include "utilization_times.hpp"

namespace profkit {

namespace detail {

std::unique_ptr<collector> measure_utilization(utilization_times const& times);

}  // namespace detail

/// @brief Measures the utilization of the GPUs of this process: SMs, tensor and other pipes, memory, NVLink, PCIe. Reads counters of the
/// whole device (NVML's GPM, Hopper and later); on other devices NVML's utilization rates.
///
/// Measures windows of one second or longer inside measured steps. A window may cover many steps, or a part of one. The figures are means
/// over windows: they do not describe a single step, scope or kernel, and they include other programs on the same device.
///
/// Reads once a second on the session's thread (about 0.2 ms for each device). Opens NVML at run time, does not change device settings,
/// does not synchronise the device and needs no privileges. `PROFKIT=utilization=on` adds this collector to any program. Source: NVML API
/// Reference, "GPM" and `nvmlDeviceGetUtilizationRates`.
class gpu_utilization final : public detail::made_collector {
 public:
  /// @brief Measures windows of a second or longer.
  gpu_utilization() : gpu_utilization{detail::utilization_times{}} {}
  /// @brief For tests that cannot wait for windows of a second.
  /// @param times replaces the usual times.
  explicit gpu_utilization(detail::utilization_times const& times) : made_collector{detail::measure_utilization(times)} {}
};

}  // namespace profkit
