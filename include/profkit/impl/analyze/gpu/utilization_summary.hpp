// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../../../time.hpp"

namespace profkit {

/// @brief The utilization of one unit of a device, as fractions from 0 to 1. Windows are weighted by their length.
struct share_of_unit {
  double mean = 0.0;  ///< weighted mean over all windows
  double min = 0.0;   ///< smallest value of a window
  double max = 0.0;   ///< largest value of a window
};

/// @brief A transfer rate of a device, in bytes per second. Windows are weighted by their length.
struct rate_of_unit {
  double mean = 0.0;  ///< weighted mean over all windows
  double min = 0.0;   ///< smallest value of a window
  double max = 0.0;   ///< largest value of a window
};

/// @brief The utilization of a device in the measured steps, by all programs on it, as its own counters report it. Figures that the device
/// does not report are n/a. `device_unit` describes the units.
struct utilization_summary {
  std::int32_t device = 0;                        ///< number in the process
  std::string source{};                           ///< source of the figures: "GPM counters", or "utilization rates" on older devices
  std::uint64_t windows = 0;                      ///< number of windows
  milliseconds covered{};                         ///< sum of their lengths
  std::optional<share_of_unit> busy{};            ///< `device_unit::busy`
  std::optional<share_of_unit> sm_active{};       ///< `device_unit::sm_active`
  std::optional<share_of_unit> sm_occupancy{};    ///< `device_unit::sm_occupancy`
  std::optional<share_of_unit> tensor{};          ///< `device_unit::tensor`
  std::optional<share_of_unit> tensor_fp64{};     ///< `device_unit::tensor_fp64`
  std::optional<share_of_unit> tensor_float{};    ///< `device_unit::tensor_float`
  std::optional<share_of_unit> tensor_integer{};  ///< `device_unit::tensor_integer`
  std::optional<share_of_unit> fp64{};            ///< `device_unit::fp64`
  std::optional<share_of_unit> fp32{};            ///< `device_unit::fp32`
  std::optional<share_of_unit> fp16{};            ///< `device_unit::fp16`
  std::optional<share_of_unit> integer{};         ///< `device_unit::integer`
  std::optional<share_of_unit> dram{};            ///< `device_unit::dram`
  std::optional<share_of_unit> memory_active{};   ///< `device_unit::memory_active`
  std::optional<rate_of_unit> nvlink_receive{};   ///< `device_unit::nvlink_receive`
  std::optional<rate_of_unit> nvlink_send{};      ///< `device_unit::nvlink_send`
  std::optional<rate_of_unit> pcie_receive{};     ///< `device_unit::pcie_receive`
  std::optional<rate_of_unit> pcie_send{};        ///< `device_unit::pcie_send`
};

}  // namespace profkit
