// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "work_summary.hpp"

namespace profkit {

/// The published peaks of a device. Rates are dense: where a data sheet prints only those with sparsity, the half of them. fp64, tf32,
/// fp16, bf16 and fp8 are those of tensor cores that accumulate in fp32 (fp64 in fp64), where the device has them; fp32 is that without
/// them.
struct device_peaks {
  std::string_view device;                        ///< exactly as `cudaDeviceProp::name`
  std::array<double, precision_count> teraflops;  ///< 10^12 per second, by `precision`; 0: not printed, or not certain
  double gigabytes;                               ///< 10^9 per second
  std::string_view source;

  /// The same per second.
  [[nodiscard]] device_rates rates() const {
    device_rates result;
    for (std::size_t i = 0; i < precision_count; ++i) {
      if (teraflops[i] > 0.0) result.flops_per_second[i] = teraflops[i] * 1e12;
    }
    if (gigabytes > 0.0) result.bytes_per_second = gigabytes * 1e9;
    return result;
  }
};

/// Printed in `docs/roofline.md`, too.
inline constexpr device_peaks known_devices[] = {
    // unknown, fp64, fp32, tf32, fp16, bf16, fp8
    {"NVIDIA H200", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 4800, "NVIDIA H200 data sheet"},
    {"NVIDIA H200 NVL", {0, 60, 60, 417.5, 835.5, 835.5, 1670.5}, 4800, "NVIDIA H200 data sheet"},
    {"NVIDIA GH200 480GB", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 4000, "NVIDIA GH200 data sheet"},
    {"NVIDIA H100 80GB HBM3", {0, 67, 67, 494.5, 989.5, 989.5, 1979}, 3350, "NVIDIA H100 data sheet"},
    {"NVIDIA H100 NVL", {0, 60, 60, 417.5, 835.5, 835.5, 1670.5}, 3900, "NVIDIA H100 data sheet"},
    {"NVIDIA H100 PCIe", {0, 51, 51, 378, 756.5, 756.5, 1513}, 2000, "NVIDIA H100 PCIe data sheet"},
    {"NVIDIA A100-SXM4-80GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 2039, "NVIDIA A100 data sheet"},
    {"NVIDIA A100-SXM4-40GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 1555, "NVIDIA A100 data sheet"},
    {"NVIDIA A100 80GB PCIe", {0, 19.5, 19.5, 156, 312, 312, 0}, 1935, "NVIDIA A100 data sheet"},
    {"NVIDIA A100-PCIE-40GB", {0, 19.5, 19.5, 156, 312, 312, 0}, 1555, "NVIDIA A100 data sheet"},
    {"NVIDIA B200", {0, 37, 75, 1100, 2250, 2250, 4500}, 7700, "NVIDIA Blackwell data sheet, HGX B200"},
    {"NVIDIA L40S", {0, 0, 91.6, 183, 362.05, 362.05, 733}, 864, "NVIDIA L40S data sheet"},
    {"NVIDIA L4", {0, 0, 30.3, 60, 121, 121, 242.5}, 300, "NVIDIA L4 data sheet"},
    {"NVIDIA A10", {0, 0, 31.2, 62.5, 125, 125, 0}, 600, "NVIDIA A10 data sheet"},
    {"Tesla V100-SXM2-16GB", {0, 7.8, 15.7, 0, 125, 0, 0}, 900, "NVIDIA V100 data sheet"},
    {"Tesla V100-SXM2-32GB", {0, 7.8, 15.7, 0, 125, 0, 0}, 900, "NVIDIA V100 data sheet"},
    {"Tesla V100-PCIE-16GB", {0, 7, 14, 0, 112, 0, 0}, 900, "NVIDIA V100 data sheet"},
    {"Tesla V100-PCIE-32GB", {0, 7, 14, 0, 112, 0, 0}, 900, "NVIDIA V100 data sheet"},
    {"Tesla T4", {0, 0, 8.1, 0, 65, 0, 0}, 0, "NVIDIA T4 data sheet"},
    {"NVIDIA GeForce RTX 5090", {0, 0, 104.8, 104.8, 209.5, 209.5, 419}, 1792, "NVIDIA RTX Blackwell GPU architecture white paper"},
    {"NVIDIA GeForce RTX 4090", {0, 0, 82.6, 82.6, 165.2, 165.2, 330.3}, 1008, "NVIDIA Ada GPU architecture white paper"},
    {"NVIDIA GeForce RTX 3090", {0, 0, 35.6, 35.6, 71, 71, 0}, 936, "NVIDIA Ampere GA102 GPU architecture white paper"},
};

/// Only a device of exactly that name: "NVIDIA H200 NVL" and a part of an "NVIDIA H200" (MIG) are not an "NVIDIA H200".
/// @return null if the device is not known.
[[nodiscard]] inline device_peaks const* peaks_of(std::string_view device) noexcept {
  for (device_peaks const& each : known_devices) {
    if (each.device == device) return &each;
  }
  return nullptr;
}

}  // namespace profkit
