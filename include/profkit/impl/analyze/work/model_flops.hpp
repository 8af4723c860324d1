// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../device_summary.hpp"
#include "scope_work.hpp"

namespace PROFKIT_NAMESPACE {

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

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

inline std::set<std::int32_t> used_devices(profile const& profile) {
  std::set<std::int32_t> devices;
  for (gpu_operation_record const& each : profile.gpu_operations) {
    if (devices.size() != 1 || *devices.begin() != each.device) devices.insert(each.device);  // fast path: most programs use one device
  }
  for (gpu_step_record const& each : profile.gpu_steps) devices.insert(each.device);
  return devices;
}

/// @param gpu the name of the device.
inline limits_summary summarize_limits(std::string const& gpu, own_vector<measured_roof_record> const& measured_roofs,
                                       std::set<std::int32_t> const& devices) {
  limits_summary result;
  result.device = gpu;
  result.measured = measured_roofs;
  for (measured_roof_record const& each : measured_roofs) {
    auto const raise = [](std::optional<double>& to, double rate) {
      if (rate > 0.0) to = std::max(to.value_or(0.0), rate);
    };
    auto const precision = static_cast<std::size_t>(each.precision);
    if (precision > 0) raise(result.measured_rates.flops_per_second[precision], each.flops_per_second);
    raise(result.measured_rates.bytes_per_second, each.bytes_per_second);
  }
  device_peaks const* const peaks = peaks_of(result.device);
  if (devices.size() > 1) {
    // The share of each device in the work is unknown.
    result.why_no_peaks = "the program used " + std::to_string(devices.size()) + " devices";
    result.measured_rates = {};
  } else if (result.device.empty()) {
    result.why_no_peaks = "the device is not known";
  } else if (peaks == nullptr) {
    result.why_no_peaks = "no dense peaks are known for \"" + result.device + "\"";
  } else {
    result.peaks = peaks->rates();
    result.source = peaks->source;
  }
  return result;
}

/// Computes model FLOPs. n/a without measured steps and without declared work.
/// @param flops model FLOPs of the measured steps as set by the program; 0: not set.
inline std::optional<model_summary> summarize_model(double flops, precision kind, step_summary const& steps, limits_summary const& limits,
                                                    scope_work const& work) {
  if (!steps.step_time) return std::nullopt;
  model_summary result;
  result.flops_source = "given by the program";
  auto counted_steps = static_cast<double>(steps.host.count);
  if (flops <= 0.0) {
    counted_steps = static_cast<double>(work.steps());
    std::optional<double> const backward = work.backward_flops();
    flops = work.flops() + backward.value_or(0.0);
    result.flops_source = !work.has_backward() ? "declared by the scopes"
                          : backward           ? "declared by the scopes, with backward work"
                                               : "declared by the scopes, without backward work, which some scopes did not declare";
  }
  if (flops <= 0.0) return std::nullopt;
  result.flops_per_step = flops / counted_steps;
  result.flops_per_second = result.flops_per_step / std::chrono::duration<double>{loop_time(steps)}.count();
  result.basis = loop_time_basis(steps);
  result.precision = kind;
  auto const precision = static_cast<std::size_t>(kind);
  result.peak_flops_per_second = limits.peaks.flops_per_second[precision];
  result.measured_peak_flops_per_second = limits.measured_rates.flops_per_second[precision];
  if (result.peak_flops_per_second) result.utilization = result.flops_per_second / *result.peak_flops_per_second;
  if (result.measured_peak_flops_per_second) result.share_of_measured = result.flops_per_second / *result.measured_peak_flops_per_second;
  if (result.peak_flops_per_second) return result;
  result.why_no_peak = limits.why_no_peaks;
  if (result.why_no_peak.empty()) {
    result.why_no_peak = precision == 0 ? "the precision is not given (PROFKIT=precision=NAME)"
                                        : std::string{"no dense peak is known for "} + name_of(kind) + " on " + limits.device;
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
