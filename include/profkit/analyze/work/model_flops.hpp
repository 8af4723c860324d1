// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../summary.hpp"
#include "device_peaks.hpp"
#include "scope_work.hpp"

namespace profkit::detail {

/// The devices that a program used.
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
  result.flops_per_second = result.flops_per_step / std::chrono::duration<double>{steps.step_time->mean}.count();
  result.basis = steps.step_time->basis;
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

}  // namespace profkit::detail
