// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "work_summary.hpp"

namespace profkit {

/// @brief The published peaks of a device. Rates are dense; if a data sheet states only rates with sparsity, they are half of those. fp64,
/// tf32, fp16, bf16 and fp8 are rates of tensor cores with fp32 accumulation (fp64 for fp64), if the device has them; fp32 is the rate
/// without tensor cores.
struct device_peaks {
  std::string_view device;                        ///< exactly as `cudaDeviceProp::name`
  std::array<double, precision_count> teraflops;  ///< 10^12 operations per second, by `precision`; 0: unknown
  double gigabytes;                               ///< memory bandwidth: 10^9 bytes per second
  double link_gigabytes;    ///< bandwidth to the other devices of its host, in one direction: 10^9 bytes per second; 0: unknown
  std::string_view source;  ///< the data sheet

  /// @brief The rates per second.
  [[nodiscard]] device_rates rates() const {
    device_rates result;
    for (std::size_t i = 0; i < precision_count; ++i) {
      if (teraflops[i] > 0.0) result.flops_per_second[i] = teraflops[i] * 1e12;
    }
    if (gigabytes > 0.0) result.bytes_per_second = gigabytes * 1e9;
    return result;
  }
};

/// @brief Devices with known peaks. docs/roofline.md has the same table.
inline constexpr device_peaks known_devices[] = {
    // Links: half of the NVLink bandwidth of the data sheet, which counts both directions. 0 for PCI Express cards, whose bridges may be
    // missing, and for devices whose links depend on the machine.
    //
    // Rates: unknown, fp64, fp32, tf32, fp16, bf16, fp8.
    {"NVIDIA H200", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 4800, 450, "NVIDIA H200 data sheet"},
    {"NVIDIA H200 NVL", {0, 60, 60, 417.5, 835.5, 835.5, 1670.5}, 4800, 0, "NVIDIA H200 data sheet"},
    {"NVIDIA GH200 480GB", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 4000, 0, "NVIDIA GH200 data sheet"},
    {"NVIDIA H100 80GB HBM3", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 3350, 450, "NVIDIA H100 data sheet"},
    {"NVIDIA H100 NVL", {0, 60, 60, 417.5, 835.5, 835.5, 1670.5}, 3900, 0, "NVIDIA H100 data sheet"},
    {"NVIDIA H100 PCIe", {0, 51, 51, 378, 756.5, 756.5, 1513}, 2000, 0, "NVIDIA H100 PCIe data sheet"},
    {"NVIDIA A100-SXM4-80GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 2039, 300, "NVIDIA A100 data sheet"},
    {"NVIDIA A100-SXM4-40GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 1555, 300, "NVIDIA A100 data sheet"},
    {"NVIDIA A100 80GB PCIe", {0, 19.5, 19.5, 156, 312, 312, 0}, 1935, 0, "NVIDIA A100 data sheet"},
    {"NVIDIA A100-PCIE-40GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 1555, 0, "NVIDIA A100 data sheet"},
    {"NVIDIA B200", {0, 37, 75, 1100, 2250, 2250, 4500}, 7700, 900, "NVIDIA Blackwell data sheet, HGX B200"},
    {"NVIDIA L40S", {0, 0, 91.6, 183, 362.05, 362.05, 733}, 864, 0, "NVIDIA L40S data sheet"},
    {"NVIDIA L4", {0, 0, 30.3, 60, 121, 121, 242.5}, 300, 0, "NVIDIA L4 data sheet"},
    {"NVIDIA A10", {0, 0, 31.2, 62.5, 125, 125, 0}, 600, 0, "NVIDIA A10 data sheet"},
    {"Tesla V100-SXM2-16GB", {0, 7.8, 15.7, 0, 125, 0, 0}, 900, 150, "NVIDIA V100 data sheet"},
    {"Tesla V100-SXM2-32GB", {0, 7.8, 15.7, 0, 125, 0, 0}, 900, 150, "NVIDIA V100 data sheet"},
    {"Tesla V100-PCIE-16GB", {0, 7, 14, 0, 112, 0, 0}, 900, 0, "NVIDIA V100 data sheet"},
    {"Tesla V100-PCIE-32GB", {0, 7, 14, 0, 112, 0, 0}, 900, 0, "NVIDIA V100 data sheet"},
    {"Tesla T4", {0, 0, 8.1, 0, 65, 0, 0}, 0, 0, "NVIDIA T4 data sheet"},
    {"NVIDIA GeForce RTX 5090", {0, 0, 104.8, 104.8, 209.5, 209.5, 419}, 1792, 0, "NVIDIA RTX Blackwell GPU architecture white paper"},
    {"NVIDIA GeForce RTX 4090", {0, 0, 82.6, 82.6, 165.2, 165.2, 330.3}, 1008, 0, "NVIDIA Ada GPU architecture white paper"},
    {"NVIDIA GeForce RTX 3090", {0, 0, 35.6, 35.6, 71, 71, 0}, 936, 0, "NVIDIA Ampere GA102 GPU architecture white paper"},
};

/// @brief The peaks of a device with exactly this name. An "NVIDIA H200 NVL" or a part (MIG) of an "NVIDIA H200" is another device.
/// @param device as `cudaDeviceProp::name`.
/// @return null if the device is unknown.
[[nodiscard]] inline device_peaks const* peaks_of(std::string_view device) noexcept {
  for (device_peaks const& each : known_devices) {
    if (each.device == device) return &each;
  }
  return nullptr;
}

}  // namespace profkit
