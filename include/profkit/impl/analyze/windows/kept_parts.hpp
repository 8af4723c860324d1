// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../../time.hpp"
#include "../../profile/kept_steps.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile_follower.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"

namespace profkit::detail {

/// Keeps all records of the last or of the slowest steps.
class kept_parts {
 public:
  explicit kept_parts(kept_steps which = {}) noexcept : which_{which} {}

  [[nodiscard]] bool is_all() const noexcept { return which_.choice == kept_steps::all; }

  /// Adds the steps of a window.
  /// @param records a profile with the records of the window and possibly others.
  void take(profile const& records, attribution const& launched, interval const& own) {
    if (is_all()) return;
    for (step_record const& step : records.steps) {
      if (own.begin <= step.time.begin && step.time.begin < own.end) offer(step);
    }
    fill(records, launched, own);
  }

  /// Moves the records of the kept steps to the ends of the lists of a profile, in step order.
  /// @return the number of moved records, not counting the step records.
  std::uint64_t move_to(profile& to) {
    std::uint64_t count = 0;
    for (auto& [index, each] : parts_) {
      count += count_records(each);
      profile_append::move(each, to);
    }
    parts_.clear();
    by_duration_.clear();
    return count;
  }

 private:
  static std::chrono::nanoseconds duration_of(profile const& part) { return part.steps.front().time.duration(); }

  /// Keeps the step if it qualifies; replaces another one if necessary.
  void offer(step_record const& step) {
    if (which_.choice == kept_steps::slowest && !step.is_measured()) return;
    own_vector<step_record> steps{step};
    std::set<std::pair<std::chrono::nanoseconds, std::uint64_t>> duration{{step.time.duration(), step.index}};
    profile& part = parts_[step.index];  // the last allocation: a part always has a step
    if (!part.steps.empty()) by_duration_.erase({duration_of(part), step.index});
    part.steps.swap(steps);
    by_duration_.merge(duration);
    if (parts_.size() <= which_.count) return;
    auto const out = which_.choice == kept_steps::slowest ? parts_.find(by_duration_.begin()->second) : parts_.begin();
    by_duration_.erase({duration_of(out->second), out->first});
    parts_.erase(out);
  }

  struct open_part {
    interval time;
    profile* part;
  };

  /// Copies the records of the kept steps that begin in a stretch of time.
  void fill(profile const& records, attribution const& launched, interval const& own) {
    own_vector<open_part> open;
    for (auto& [index, each] : parts_) {
      interval const& time = each.steps.front().time;
      if (own.begin <= time.begin && time.begin < own.end) open.push_back({time, &each});
    }
    if (open.empty()) return;
    std::sort(open.begin(), open.end(), [](open_part const& a, open_part const& b) { return a.time.begin < b.time.begin; });
    auto const part_at = [&](timestamp moment) -> profile* {
      auto const after =
          std::upper_bound(open.begin(), open.end(), moment, [](timestamp at, open_part const& each) { return at < each.time.begin; });
      return after == open.begin() || moment >= std::prev(after)->time.end ? nullptr : std::prev(after)->part;
    };
    auto const add = [&](auto const& list, auto member, auto const& moment_of) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (profile* const to = part_at(moment_of(i)); to != nullptr) (to->*member).push_back(list[i]);
      }
    };
    add(records.scopes, &profile::scopes, [&](std::size_t i) { return records.scopes[i].time.begin; });
    add(records.gpu_scopes, &profile::gpu_scopes, [&](std::size_t i) { return records.gpu_scopes[i].begin; });
    add(records.gpu_operations, &profile::gpu_operations, [&](std::size_t i) { return launch_moment(records, launched, i); });
    add(records.api_calls, &profile::api_calls, [&](std::size_t i) { return middle_of(records.api_calls[i].time); });
    add(records.counters, &profile::counters, [&](std::size_t i) { return records.counters[i].time; });
    add(records.samples, &profile::samples, [&](std::size_t i) { return records.samples[i].time; });
    add(records.allocations, &profile::allocations, [&](std::size_t i) { return records.allocations[i].time; });
    add(records.work, &profile::work, [&](std::size_t i) { return records.work[i].begin; });
    add(records.collectives, &profile::collectives, [&](std::size_t i) { return records.collectives[i].time.begin; });
    auto const add_readings = [&](auto const& list, auto member) {
      for (auto const& each : list) {
        if (auto const known = parts_.find(each.step); known != parts_.end()) (known->second.*member).push_back(each);
      }
    };
    add_readings(records.gpu_steps, &profile::gpu_steps);
    add_readings(records.memory, &profile::memory);
    add_readings(records.device_clocks, &profile::device_clocks);
    add_readings(records.device_utilization, &profile::device_utilization);
  }

  kept_steps which_;
  std::map<std::uint64_t, profile> parts_;                                    ///< records by step index
  std::set<std::pair<std::chrono::nanoseconds, std::uint64_t>> by_duration_;  ///< the kept steps: duration and index
};

}  // namespace profkit::detail
