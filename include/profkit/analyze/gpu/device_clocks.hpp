// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../time/statistics.hpp"
#include "../verdict/verdict_summary.hpp"

namespace profkit {

namespace detail {

/// Source: nvml.h, `nvmlClocksEventReason*`.
namespace clock_reason {
inline constexpr std::uint64_t power_cap = 0x4;
inline constexpr std::uint64_t hardware_slowdown = 0x8;
inline constexpr std::uint64_t thermal_slowdown = 0x20;
inline constexpr std::uint64_t hardware_thermal_slowdown = 0x40;
inline constexpr std::uint64_t power_brake = 0x80;
}  // namespace clock_reason

}  // namespace detail

/// What NVML's bits for not running faster mean, in words.
[[nodiscard]] inline std::vector<std::string> clock_reason_names(std::uint64_t reasons) {
  static constexpr std::pair<std::uint64_t, char const*> names[] = {
      {0x1, "idle"},
      {0x2, "application clocks"},
      {detail::clock_reason::power_cap, "power cap"},
      {detail::clock_reason::hardware_slowdown, "hardware slowdown"},
      {0x10, "sync boost"},
      {detail::clock_reason::thermal_slowdown, "thermal slowdown"},
      {detail::clock_reason::hardware_thermal_slowdown, "hardware thermal slowdown"},
      {detail::clock_reason::power_brake, "power brake"},
      {0x100, "display clocks"}};
  std::vector<std::string> result;
  for (auto const& [bit, name] : names) {
    if ((reasons & bit) != 0) result.emplace_back(name);
    reasons &= ~bit;
  }
  if (reasons != 0) result.emplace_back("another reason");
  return result;
}

/// Whether a device had slowed down: for heat or power, by its hardware or driver; or its power cap held the SMs below three quarters of
/// their highest clock. A power cap alone is how large devices always run under load. Source of the three quarters: NVBench's throttle
/// threshold, of the default SM clock there.
[[nodiscard]] inline bool is_throttled(device_clock_record const& reading) noexcept {
  constexpr double least_share = 0.75;
  constexpr std::uint64_t slowdowns = detail::clock_reason::hardware_slowdown | detail::clock_reason::thermal_slowdown |
                                      detail::clock_reason::hardware_thermal_slowdown | detail::clock_reason::power_brake;
  if ((reading.reasons & slowdowns) != 0) return true;
  return (reading.reasons & detail::clock_reason::power_cap) != 0 && reading.sm_mhz < least_share * reading.highest_sm_mhz;
}

/// The clocks of each device after measured steps, in the order of the devices' numbers. Empty where they were not read.
[[nodiscard]] inline std::vector<clock_summary> summarize_clocks(profile const& of) {
  struct device_readings {
    clock_summary summary;
    running_statistics mhz;
    running_statistics watt;
  };
  std::set<std::uint64_t> measured;
  for (step_record const& step : of.steps) {
    if (step.is_measured()) measured.insert(step.index);
  }
  std::map<std::int32_t, device_readings> devices;
  for (device_clock_record const& reading : of.device_clocks) {
    if (measured.count(reading.step) == 0) continue;
    device_readings& device = devices[reading.device];
    clock_summary& summary = device.summary;
    summary.device = reading.device;
    summary.highest_mhz = std::max(summary.highest_mhz, reading.highest_sm_mhz);
    summary.reasons |= reading.reasons;
    if (is_throttled(reading)) ++summary.throttled_readings;
    device.mhz.add(reading.sm_mhz);
    if (reading.milliwatt) device.watt.add(*reading.milliwatt / 1000.0);
    if (reading.celsius) summary.max_celsius = std::max(summary.max_celsius.value_or(0), *reading.celsius);
  }
  std::vector<clock_summary> result;
  for (auto& [number, device] : devices) {
    clock_summary& summary = device.summary;
    summary.readings = device.mhz.count();
    summary.min_mhz = static_cast<std::uint32_t>(device.mhz.min().value_or(0.0));
    summary.mean_mhz = device.mhz.mean().value_or(0.0);
    summary.max_mhz = static_cast<std::uint32_t>(device.mhz.max().value_or(0.0));
    summary.mean_watt = device.watt.mean();
    summary.max_watt = device.watt.max();
    result.push_back(summary);
  }
  return result;
}

}  // namespace profkit
