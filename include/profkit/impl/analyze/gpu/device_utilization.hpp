// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/device_utilization_record.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/wide_integer.hpp"
#include "../time/measured_time.hpp"
#include "utilization_summary.hpp"

namespace profkit::detail {

/// The members of a summary by unit. Exactly one of the two is not null.
struct unit_member {
  device_unit unit;
  std::optional<share_of_unit> utilization_summary::*share = nullptr;
  std::optional<rate_of_unit> utilization_summary::*rate = nullptr;
};
inline constexpr unit_member unit_members[device_units] = {{device_unit::busy, &utilization_summary::busy},
                                                           {device_unit::sm_active, &utilization_summary::sm_active},
                                                           {device_unit::sm_occupancy, &utilization_summary::sm_occupancy},
                                                           {device_unit::tensor, &utilization_summary::tensor},
                                                           {device_unit::tensor_fp64, &utilization_summary::tensor_fp64},
                                                           {device_unit::tensor_float, &utilization_summary::tensor_float},
                                                           {device_unit::tensor_integer, &utilization_summary::tensor_integer},
                                                           {device_unit::fp64, &utilization_summary::fp64},
                                                           {device_unit::fp32, &utilization_summary::fp32},
                                                           {device_unit::fp16, &utilization_summary::fp16},
                                                           {device_unit::integer, &utilization_summary::integer},
                                                           {device_unit::dram, &utilization_summary::dram},
                                                           {device_unit::memory_active, &utilization_summary::memory_active},
                                                           {device_unit::nvlink_receive, nullptr, &utilization_summary::nvlink_receive},
                                                           {device_unit::nvlink_send, nullptr, &utilization_summary::nvlink_send},
                                                           {device_unit::pcie_receive, nullptr, &utilization_summary::pcie_receive},
                                                           {device_unit::pcie_send, nullptr, &utilization_summary::pcie_send}};

/// The utilization of each device in the measured steps. Mergeable across windows of the session.
class merged_utilization {
 public:
  merged_utilization() = default;

  /// Adds the readings that ended in the measured steps that begin in `own`.
  merged_utilization(profile const& profile, interval const& own) {
    if (profile.device_utilization.empty()) return;
    std::set<std::uint64_t> const measured = measured_steps_in(profile, own);
    for (device_utilization_record const& each : profile.device_utilization) {
      if (measured.count(each.step) != 0 && length_of(each) > 0) devices_[each.device].add(each);
    }
  }

  /// Merges another object: the result is as if its records had been added here.
  void add(merged_utilization const& other) {
    for (auto const& [number, each] : other.devices_) devices_[number].add(each);
  }

  /// @return one row per device, by device number; empty if nothing was measured.
  [[nodiscard]] own_vector<utilization_summary> summarize() const {
    own_vector<utilization_summary> result;
    for (auto const& [number, device] : devices_) {
      utilization_summary& row = result.emplace_back();
      row.device = number;
      row.windows = device.windows;
      row.covered = std::chrono::microseconds{static_cast<std::int64_t>(device.weight)};
      for (unit_member const& each : unit_members) fill(row, each, device.units[static_cast<std::size_t>(each.unit)]);
      row.source = row.memory_active ? "utilization rates" : "GPM counters";
    }
    return result;
  }

 private:
  /// In microseconds.
  static std::uint64_t length_of(device_utilization_record const& window) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(window.time.duration()).count());
  }

  /// Values are integers, so that sums do not depend on their order.
  struct unit_values {
    std::uint64_t weight = 0;  ///< sum of the lengths of the windows, in microseconds
    wide_integer sum = 0;      ///< sum of value times length
    std::uint32_t min = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t max = 0;

    template <class Archive>
    friend void fields(Archive& archive, unit_values& state) {
      archive.amount(state.weight), archive.amount(state.sum), archive(state.min), archive(state.max);
    }

    void add(unit_values const& other) {
      weight += other.weight;
      sum += other.sum;
      min = std::min(min, other.min);
      max = std::max(max, other.max);
    }
  };

  struct device_values {
    std::uint64_t windows = 0;
    std::uint64_t weight = 0;  ///< sum of their lengths, in microseconds
    std::array<unit_values, device_units> units{};

    template <class Archive>
    friend void fields(Archive& archive, device_values& state) {
      archive(state.windows), archive.amount(state.weight), archive(state.units);
      if constexpr (Archive::is_reader) archive.check(state.windows > 0, "a device was used in no window");
    }

    void add(device_utilization_record const& window) {
      std::uint64_t const length = length_of(window);
      ++windows;
      weight += length;
      for (std::size_t i = 0; i < device_units; ++i) {
        if (window.values[i]) units[i].add({length, wide_integer{length} * *window.values[i], *window.values[i], *window.values[i]});
      }
    }

    void add(device_values const& other) {
      windows += other.windows;
      weight += other.weight;
      for (std::size_t i = 0; i < device_units; ++i) units[i].add(other.units[i]);
    }
  };

  static void fill(utilization_summary& row, unit_member const& member, unit_values const& from) {
    if (from.weight == 0) return;
    double const unit = is_rate(member.unit) ? 1024.0 : 1e-5;
    double const mean = static_cast<double>(from.sum) / static_cast<double>(from.weight) * unit;
    if (member.share != nullptr) (row.*member.share) = share_of_unit{mean, from.min * unit, from.max * unit};
    if (member.rate != nullptr) (row.*member.rate) = rate_of_unit{mean, from.min * unit, from.max * unit};
  }

  template <class Archive>
  friend void fields(Archive& archive, merged_utilization& state) {
    archive(state.devices_);
  }

  std::map<std::int32_t, device_values> devices_;
};

}  // namespace profkit::detail
