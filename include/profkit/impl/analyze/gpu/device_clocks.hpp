// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "../verdict/verdict_summary.hpp"

namespace profkit {

namespace detail {

/// Source: nvml.h, `nvmlClocksEventReason*`.
namespace clock_reason {
inline constexpr std::uint64_t power_cap = 0x4;                   ///< the software power limit
inline constexpr std::uint64_t hardware_slowdown = 0x8;           ///< hardware halves the clock or more, for heat or power
inline constexpr std::uint64_t thermal_slowdown = 0x20;           ///< the driver reduces the clock for heat
inline constexpr std::uint64_t hardware_thermal_slowdown = 0x40;  ///< hardware reduces the clock for heat
inline constexpr std::uint64_t power_brake = 0x80;                ///< an external power brake, such as that of the power supply
}  // namespace clock_reason

}  // namespace detail

/// @brief The names of NVML's throttle reasons. Thread-safe; calls no driver.
/// @param reasons bit mask `device_clock_record::reasons` (nvml.h, `nvmlClocksEventReason*`).
/// @return one name per known bit that is set, such as "power cap", in the order of the bits; "another reason" for all unknown bits.
[[nodiscard]] inline ::profkit::detail::own_vector<std::string> clock_reason_names(std::uint64_t reasons) {
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
  ::profkit::detail::own_vector<std::string> result;
  for (auto const& [bit, name] : names) {
    if ((reasons & bit) != 0) result.emplace_back(name);
    reasons &= ~bit;
  }
  if (reasons != 0) result.emplace_back("another reason");
  return result;
}

/// @brief Whether a reading shows throttling: a slowdown for heat or power by hardware or driver, or a power cap that held the SM clock
/// below three quarters of its maximum. A power cap alone is normal for large devices under load. Source of the three quarters: NVBench's
/// throttle threshold (relative to the default SM clock there). Thread-safe.
/// @param reading clocks and reasons of one device, such as those of `profile::device_clocks`.
[[nodiscard]] inline bool is_throttled(device_clock_record const& reading) noexcept {
  constexpr double min_share = 0.75;
  constexpr std::uint64_t slowdowns = detail::clock_reason::hardware_slowdown | detail::clock_reason::thermal_slowdown |
                                      detail::clock_reason::hardware_thermal_slowdown | detail::clock_reason::power_brake;
  if ((reading.reasons & slowdowns) != 0) return true;
  return (reading.reasons & detail::clock_reason::power_cap) != 0 && reading.sm_mhz < min_share * reading.max_sm_mhz;
}

namespace detail {

/// Clocks of each device after measured steps. Mergeable across windows.
class merged_clocks {
 public:
  merged_clocks() = default;

  /// Adds the readings of the measured steps that begin in `own`.
  merged_clocks(profile const& profile, interval const& own) {
    std::set<std::uint64_t> const measured = measured_steps_in(profile, own);
    for (device_clock_record const& reading : profile.device_clocks) {
      if (measured.count(reading.step) != 0) devices_[reading.device].add(reading);
    }
  }

  /// Merges another object: the result is as if its readings had been added here.
  void add(merged_clocks const& other) {
    for (auto const& [number, each] : other.devices_) devices_[number].add(each);
  }

  /// @return one row per device, by device number; empty if clocks were not read.
  [[nodiscard]] ::profkit::detail::own_vector<clock_summary> summarize() const {
    ::profkit::detail::own_vector<clock_summary> result;
    for (auto const& [number, device] : devices_) {
      clock_summary& row = result.emplace_back();
      row.device = number;
      row.readings = device.readings;
      row.throttled_readings = device.throttled_readings;
      row.min_mhz = device.min_mhz;
      row.mean_mhz = static_cast<double>(device.mhz) / static_cast<double>(device.readings);
      row.max_mhz = device.max_mhz;
      row.device_max_mhz = device.device_max_mhz;
      row.reasons = device.reasons;
      row.max_celsius = device.max_celsius;
      if (device.power_readings == 0) continue;
      row.mean_watt = static_cast<double>(device.milliwatt) / 1000.0 / static_cast<double>(device.power_readings);
      row.max_watt = device.max_milliwatt / 1000.0;
    }
    return result;
  }

 private:
  struct device_readings {
    std::uint64_t readings = 0;
    std::uint64_t throttled_readings = 0;
    std::uint64_t power_readings = 0;
    std::uint64_t reasons = 0;
    std::uint64_t mhz = 0;        ///< sum over the readings
    std::uint64_t milliwatt = 0;  ///< sum over the readings
    std::uint32_t min_mhz = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t max_mhz = 0;
    std::uint32_t device_max_mhz = 0;
    std::uint32_t max_milliwatt = 0;
    std::optional<std::uint32_t> max_celsius{};

    template <class Archive>
    friend void fields(Archive& archive, device_readings& state) {
      archive(state.readings), archive(state.throttled_readings), archive(state.power_readings), archive(state.reasons), archive(state.mhz);
      archive(state.milliwatt), archive(state.min_mhz), archive(state.max_mhz), archive(state.device_max_mhz), archive(state.max_milliwatt);
      archive(state.max_celsius);
      if constexpr (Archive::is_reader) archive.check(state.readings > 0, "a device has clocks that were never read");
    }

    void add(device_clock_record const& reading) {
      ++readings;
      if (is_throttled(reading)) ++throttled_readings;
      reasons |= reading.reasons;
      mhz += reading.sm_mhz;
      min_mhz = std::min(min_mhz, reading.sm_mhz);
      max_mhz = std::max(max_mhz, reading.sm_mhz);
      device_max_mhz = std::max(device_max_mhz, reading.max_sm_mhz);
      if (reading.milliwatt) {
        ++power_readings;
        milliwatt += *reading.milliwatt;
        max_milliwatt = std::max(max_milliwatt, *reading.milliwatt);
      }
      if (reading.celsius) max_celsius = std::max(max_celsius.value_or(0), *reading.celsius);
    }

    void add(device_readings const& other) {
      readings += other.readings;
      throttled_readings += other.throttled_readings;
      power_readings += other.power_readings;
      reasons |= other.reasons;
      mhz += other.mhz;
      milliwatt += other.milliwatt;
      min_mhz = std::min(min_mhz, other.min_mhz);
      max_mhz = std::max(max_mhz, other.max_mhz);
      device_max_mhz = std::max(device_max_mhz, other.device_max_mhz);
      max_milliwatt = std::max(max_milliwatt, other.max_milliwatt);
      if (other.max_celsius) max_celsius = std::max(max_celsius.value_or(0), *other.max_celsius);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, merged_clocks& state) {
    archive(state.devices_);
  }

  std::map<std::int32_t, device_readings> devices_;
};

}  // namespace detail

}  // namespace profkit
