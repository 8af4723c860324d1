// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include "made_collector.hpp"

namespace profkit::detail {

/// Times of `gpu_utilization`. The counters of a Hopper GPU change about every 100 ms, with a delay of the same length. So shorter windows
/// give wrong values.
struct utilization_times {
  std::chrono::nanoseconds window = std::chrono::seconds{1};               ///< minimum length of a window
  std::chrono::nanoseconds before_first = std::chrono::milliseconds{200};  ///< from the first measured step to the first window
  std::chrono::nanoseconds between_readings = std::chrono::milliseconds{200};
  /// A longer pause between two steps ends the window without a result, because the pause is not part of the measured steps.
  std::chrono::nanoseconds max_pause = std::chrono::milliseconds{100};
};

}  // namespace profkit::detail

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
