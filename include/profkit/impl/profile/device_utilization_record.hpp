// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../time.hpp"

namespace profkit {

/// @brief Units of a device whose utilization is measured. Values are shares of time or of a maximum rate; the last four are rates.
enum class device_unit : std::uint8_t {
  busy = 0,             ///< share of the time in which a kernel ran
  sm_active = 1,        ///< share of the SMs that had work, averaged over the time
  sm_occupancy = 2,     ///< active warps, as a share of the maximum
  tensor = 3,           ///< share of the time in which the tensor pipes were active, averaged over the SMs, like the next values
  tensor_fp64 = 4,      ///< DFMA: fp64 on tensor pipes
  tensor_float = 5,     ///< HMMA: fp16, bf16, tf32 and fp8 on tensor pipes
  tensor_integer = 6,   ///< IMMA: integers on tensor pipes
  fp64 = 7,             ///< fp64 outside tensor pipes
  fp32 = 8,             ///< fp32 outside tensor pipes
  fp16 = 9,             ///< fp16 outside tensor pipes
  integer = 10,         ///< integers outside tensor pipes
  dram = 11,            ///< share of the maximum bandwidth of the device memory
  memory_active = 12,   ///< share of the time in which the device memory was read or written, at any rate
  nvlink_receive = 13,  ///< rate of bytes to the device, over all links
  nvlink_send = 14,     ///< the same from the device
  pcie_receive = 15,    ///< rate of bytes to the device
  pcie_send = 16,       ///< rate of bytes from the device
};

/// @brief Number of values of `device_unit`.
inline constexpr std::size_t device_units = 17;

/// @brief Whether the values of a unit are rates and not shares.
[[nodiscard]] constexpr bool is_rate(device_unit unit) noexcept { return unit >= device_unit::nvlink_receive; }

/// @brief The mean utilization of the units of a device over a stretch of time, a window. Source: NVML.
struct device_utilization_record {
  interval time;            ///< the window
  std::uint64_t step = 0;   ///< `step_record::index` of the step in which the window ended
  std::int32_t device = 0;  ///< number in the process
  /// @brief By `device_unit`: a share in units of 0.001 %, or a rate in KiB/s; n/a if the device does not report it.
  std::array<std::optional<std::uint32_t>, device_units> values{};
};

}  // namespace profkit
