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
#include <string>
#include <utility>

#include "../../profile.hpp"
#include "../../statistics.hpp"
#include "../../summary.hpp"
#include "../../time.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/record_types.hpp"
#include "device_summary.hpp"
#include "step_kind_summary.hpp"
#include "time/measured_time.hpp"
#include "time/path_tree.hpp"
#include "windows/state.hpp"

namespace PROFKIT_NAMESPACE {

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

/// Clocks of each device after measured steps.
class clock_sums {
 public:
  /// Adds the readings of the next window.
  /// @param measured the indices of its measured steps.
  void add(profile const& profile, std::set<std::uint64_t> const& measured) {
    for (device_clock_record const& reading : profile.device_clocks) {
      if (measured.count(reading.step) != 0) devices_[reading.device].add(reading);
    }
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

  auto members() { return listed(devices_); }

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
  };

  std::map<std::int32_t, device_readings> devices_;
};

}  // namespace detail

}  // namespace PROFKIT_NAMESPACE

namespace PROFKIT_NAMESPACE::detail {

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

/// The utilization of each device in the measured steps.
class utilization_sums {
 public:
  /// Adds the readings of the next window.
  /// @param measured the indices of its measured steps.
  void add(profile const& profile, std::set<std::uint64_t> const& measured) {
    for (device_utilization_record const& each : profile.device_utilization) {
      if (measured.count(each.step) != 0 && length_of(each) > 0) devices_[each.device].add(each);
    }
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

  auto members() { return listed(devices_); }

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

    auto members() { return listed(summed(weight), summed(sum), min, max); }

    void add(std::uint64_t length, std::uint32_t value) {
      weight += length;
      sum += wide_integer{length} * value;
      min = std::min(min, value);
      max = std::max(max, value);
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
        if (window.values[i]) units[i].add(length, *window.values[i]);
      }
    }
  };

  static void fill(utilization_summary& row, unit_member const& member, unit_values const& from) {
    if (from.weight == 0) return;
    double const unit = is_rate(member.unit) ? 1024.0 : 1e-5;
    double const mean = static_cast<double>(from.sum) / static_cast<double>(from.weight) * unit;
    if (member.share != nullptr) (row.*member.share) = share_of_unit{mean, from.min * unit, from.max * unit};
    if (member.rate != nullptr) (row.*member.rate) = rate_of_unit{mean, from.min * unit, from.max * unit};
  }

  std::map<std::int32_t, device_values> devices_;
};

/// The samples of counters in the measured time, by position in `profile::counter_names`.
class counter_sums {
 public:
  /// Adds the next window.
  void add(profile const& profile, measured_time const& when) {
    grow_rows(counters_, profile.counter_names.size());
    for (counter_record const& sample : profile.counters) {
      if (when.contains(sample.time)) counters_[sample.counter].add(sample);
    }
  }

  /// Whether all positions of counters are below a number.
  [[nodiscard]] bool is_in(std::size_t counters) const noexcept { return counters_.size() <= counters; }

  /// @return the rows in the order of the first appearance of the counters.
  /// @param names the names of all counters.
  [[nodiscard]] own_vector<counter_summary> summarize(own_vector<std::string> const& names) const {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    own_vector<counter_summary> rows;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      counter const& each = counters_[i];
      if (each.count == 0) continue;
      running_statistics const& finite = each.finite;
      rows.push_back({names[i], each.count, each.last, finite.mean().value_or(none), finite.min().value_or(none),
                      finite.max().value_or(none), each.not_finite});
    }
    return rows;
  }

  auto members() { return listed(counters_); }

 private:
  struct counter {
    std::uint64_t count = 0;
    std::uint64_t not_finite = 0;
    timestamp last_time = timestamp::min();
    double last = 0.0;
    running_statistics finite;

    auto members() { return listed(count, not_finite, last_time, last, finite); }

    void add(counter_record const& sample) {
      if (sample.time >= last_time) {  // samples of different threads are not in time order
        last_time = sample.time;
        last = sample.value;
      }
      ++count;
      if (is_finite(sample.value)) {
        finite.add(sample.value);
      } else {
        ++not_finite;
      }
    }
  };

  own_vector<counter> counters_;
};

/// Energy of measured steps, by meter.
class energy_sums {
 public:
  /// Adds the energy of the next window.
  void add(profile const& profile, interval const& own) {
    for (energy_record const& each : profile.energy) {
      if (each.time < own.begin || each.time >= own.end) continue;
      row& to = meters_[each.meter];
      if (each.path != path_record::no_parent) {
        scope& during = to.scopes[each.path];
        ++during.count;
        during.microjoules += each.microjoules;
        during.duration += each.duration;
        continue;
      }
      to.steps += each.steps;
      to.items += each.items;
      to.microjoules += each.microjoules;
      to.duration += each.duration;
      to.resolution = std::max(to.resolution, each.resolution);
      if (each.steps != 1) continue;
      to.min_microjoules = to.has_single ? std::min(to.min_microjoules, each.microjoules) : each.microjoules;
      to.max_microjoules = std::max(to.max_microjoules, each.microjoules);
      to.has_single = true;
    }
  }

  [[nodiscard]] own_vector<energy_summary> summarize(own_vector<energy_meter_record> const& meters,
                                                     own_vector<path_record> const& paths) const {
    own_vector<energy_summary> result;
    for (auto const& [meter, each] : meters_) {
      if (each.steps == 0 || each.duration.count() <= 0) continue;
      energy_summary& made = result.emplace_back();
      made.meter = meters[meter].name;
      made.steps = each.steps;
      made.covered = milliseconds{each.duration};
      made.joules = static_cast<double>(each.microjoules) / 1e6;
      made.joules_per_step = made.joules / static_cast<double>(each.steps);
      if (each.items > 0) made.joules_per_item = made.joules / static_cast<double>(each.items);
      made.mean_watt = made.joules / (made.covered.count() / 1e3);
      made.resolution = milliseconds{each.resolution};
      for (auto const& [path, during] : each.scopes) {
        double const joules = static_cast<double>(during.microjoules) / 1e6;
        double const watt = joules / std::chrono::duration<double>{during.duration}.count();
        made.scopes.push_back({path_text(paths, path), during.count, joules / static_cast<double>(during.count), watt});
      }
      if (!each.has_single) continue;
      made.min_joules = static_cast<double>(each.min_microjoules) / 1e6;
      made.max_joules = static_cast<double>(each.max_microjoules) / 1e6;
    }
    return result;
  }

  /// Whether all positions lie in the tables.
  [[nodiscard]] bool is_in(std::size_t meters, std::size_t paths) const noexcept {
    return std::all_of(meters_.begin(), meters_.end(), [&](auto const& each) {
      auto const& scopes = each.second.scopes;
      return each.first < meters && (scopes.empty() || scopes.rbegin()->first < paths);
    });
  }

  auto members() { return listed(meters_); }

 private:
  /// All scopes with a path that are long enough.
  struct scope {
    std::uint64_t count = 0;
    std::uint64_t microjoules = 0;
    std::chrono::nanoseconds duration{};

    auto members() { return listed(count, microjoules, summed(duration)); }
  };

  struct row {
    std::uint64_t steps = 0;
    std::uint64_t items = 0;
    std::uint64_t microjoules = 0;
    std::chrono::nanoseconds duration{};
    std::chrono::nanoseconds resolution{};  ///< maximum, which does not depend on the order
    std::uint64_t min_microjoules = 0;      ///< of records of one step, like the next two
    std::uint64_t max_microjoules = 0;
    bool has_single = false;
    std::map<std::uint32_t, scope> scopes;  ///< by path

    auto members() {
      return listed(steps, items, microjoules, summed(duration), resolution, min_microjoules, max_microjoules, has_single, scopes);
    }
  };

  std::map<std::uint32_t, row> meters_;  ///< by position in `profile::energy_meters`
};

/// Readings of memory sources at the ends of measured steps, by source and quantity.
class reading_sums {
 public:
  /// Adds the readings of the next window.
  /// @param measured the indices of its measured steps.
  /// @param has_steps false: all readings count.
  void add(profile const& profile, std::set<std::uint64_t> const& measured, bool has_steps) {
    for (memory_record const& each : profile.memory) {
      if (has_steps && measured.count(each.step) == 0) continue;
      row& to = rows_.try_emplace({each.source, each.quantity}, row{rows_.size()}).first->second;
      to.add(each);
    }
  }

  /// @return the rows in the order of the first readings.
  [[nodiscard]] own_vector<memory_summary> summarize() const {
    own_vector<std::pair<std::string, std::string>> order;
    for (auto const& each : rows_) order.push_back(each.first);
    auto const place = [this](auto const& what) { return std::make_pair(rows_.at(what).first_step, rows_.at(what).position); };
    std::sort(order.begin(), order.end(), [&](auto const& a, auto const& b) { return place(a) < place(b); });
    own_vector<memory_summary> result;
    for (auto const& what : order) {
      row const& each = rows_.at(what);
      result.push_back({what.first, what.second, each.samples, each.first_bytes, each.last_bytes, each.max_bytes, each.peak, each.peak_note,
                        each.capacity});
    }
    return result;
  }

  auto members() { return listed(rows_); }

 private:
  struct row {
    std::uint64_t position = 0;  ///< in the order of first appearance
    std::uint64_t first_step = 0;
    std::uint64_t last_step = 0;
    std::uint64_t samples = 0;
    std::uint64_t first_bytes = 0;
    std::uint64_t last_bytes = 0;
    std::uint64_t max_bytes = 0;
    std::optional<std::uint64_t> peak{};
    std::string peak_note{};  ///< note of the first reading
    std::optional<std::uint64_t> capacity{};

    auto members() {
      return listed(position, first_step, last_step, samples, first_bytes, last_bytes, max_bytes, peak, peak_note, capacity);
    }

    void add(memory_record const& reading) {
      if (samples == 0 || reading.step < first_step) {
        first_step = reading.step;
        first_bytes = reading.current_bytes;
        peak_note = reading.peak_note;
      }
      if (reading.step >= last_step) {
        last_step = reading.step;
        last_bytes = reading.current_bytes;
      }
      ++samples;
      max_bytes = std::max(max_bytes, reading.current_bytes);
      capacity = std::max(capacity, reading.capacity_bytes);
      peak = std::max(peak, reading.peak_bytes);
    }
  };

  std::map<std::pair<std::string, std::string>, row> rows_;
};

}  // namespace PROFKIT_NAMESPACE::detail
