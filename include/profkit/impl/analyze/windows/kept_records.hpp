// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../profile_builder.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile_follower.hpp"
#include "../../profile/record_types.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../memory/scope_memory.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
      move_entries(each, to);
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
    add(records.page_events, &profile::page_events, [&](std::size_t i) { return records.page_events[i].time.begin; });
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
    add_readings(records.energy, &profile::energy);
  }

  kept_steps which_;
  std::map<std::uint64_t, profile> parts_;                                    ///< records by step index
  std::set<std::pair<std::chrono::nanoseconds, std::uint64_t>> by_duration_;  ///< the kept steps: duration and index
};

/// Selects the records before a border that later windows need: see `window`.
class window_context {
 public:
  /// @param profile the records of the windows up to the border, and later records.
  /// @param open open scopes.
  window_context(profile const& profile, attribution const& launched, timestamp border, bool has_steps,
                 own_vector<scope_record> const& open)
      : profile_{profile},
        launched_{launched},
        border_{border},
        has_steps_{has_steps},
        open_{open},
        calls_(profile.api_calls.size()),
        operations_(profile.gpu_operations.size()) {
    find_neighbours();
    find_operations();
  }

  /// Removes all other records before the border.
  /// @param profile the profile of the constructor.
  void keep_in(profile& profile) const {
    std::uint64_t added = 0;  // steps
    for (step_record const& step : profile.steps) {
      if (step.time.begin < border_) added = std::max(added, step.index + 1);
    }
    auto const is_of_later_step = [&](auto const& each) { return has_steps_ && each.step >= added; };
    keep(profile.scopes, [&](scope_record const& scope) { return scope.time.end >= first_moment_; });
    own_vector<timestamp> begins;  // beginnings of scopes that cross the border
    for (scope_record const& scope : profile.scopes) {
      if (scope.time.begin < border_) begins.push_back(scope.time.begin);
    }
    for (scope_record const& each : open_) begins.push_back(each.time.begin);
    std::sort(begins.begin(), begins.end());
    keep(profile.steps, [&](step_record const& step) {
      auto const inside = std::lower_bound(begins.begin(), begins.end(), step.time.begin);
      return with_readings_at_end(step.time).end >= first_moment_ || (inside != begins.end() && *inside < step.time.end);
    });
    keep(profile.gpu_steps, is_of_later_step);
    keep(profile.memory, is_of_later_step);
    keep(profile.device_clocks, is_of_later_step);
    keep(profile.device_utilization, is_of_later_step);
    keep(profile.gpu_scopes, [&](gpu_scope_record const& scope) { return scope.begin >= border_; });
    keep(profile.page_events, [&](page_event_record const& each) { return each.time.begin >= border_; });
    keep(profile.energy, [&](energy_record const& each) { return each.time >= border_; });
    keep(profile.work, [&](work_record const& work) { return work.begin >= border_; });
    keep(profile.counters, [&](counter_record const& sample) { return sample.time >= border_; });
    keep(profile.samples, [&](sample_record const& sample) { return sample.time >= border_; });
    keep(profile.allocations, [&](allocation_record const& change) { return change.time >= border_; });
    own_hash_set<std::uint64_t> launches;
    for (std::size_t call = 0; !profile.collectives.empty() && call < calls_.size(); ++call) {
      if (calls_[call]) launches.insert(profile.api_calls[call].correlation);
    }
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> captured;  // later windows replay them
    keep(profile.collectives, [&](collective_record const& each) {
      bool const is_new = each.is_captured && captured.emplace(each.communicator, each.path, each.function).second;
      return is_new || each.time.end >= border_ || launches.count(each.correlation) != 0;
    });
    keep_marked(profile.api_calls, calls_);
    keep_marked(profile.gpu_operations, operations_);
  }

 private:
  /// Tolerance for differences between the clocks of CUPTI and the host.
  static constexpr std::chrono::microseconds clock_margin{100};

  /// Finds the last launching call of each thread, because the time between two close launching calls is launch-bound.
  void find_neighbours() {
    own_vector<bool> const is_launching = are_launching(profile_.api_names);
    own_vector<std::uint32_t> last(launched_.lanes.count(), attribution::none);
    for (std::uint32_t call = 0; call < profile_.api_calls.size(); ++call) {
      api_call_record const& record = profile_.api_calls[call];
      if (record.time.end >= border_) {
        calls_[call] = true;
        continue;
      }
      if (!is_launching[record.name] && !launched_.has_operation[call]) continue;
      std::uint32_t& known = last[launched_.lanes.lane_of(record.thread)];
      if (known == attribution::none || profile_.api_calls[known].time.end < record.time.end) known = call;
    }
    for (std::uint32_t const call : last) {
      if (call != attribution::none) calls_[call] = true;
    }
  }

  /// Finds operations that run at the border or later, or that identify a call as launching, with their calls.
  void find_operations() {
    first_moment_ = border_;
    for (std::size_t i = 0; i < profile_.gpu_operations.size(); ++i) {
      std::uint32_t const call = launched_.launch_of[i];
      bool const runs = profile_.gpu_operations[i].time.end + clock_margin >= border_;
      operations_[i] = runs || launch_moment(profile_, launched_, i) >= border_ || (call != attribution::none && calls_[call]);
      if (operations_[i]) first_moment_ = std::min(first_moment_, launch_moment(profile_, launched_, i));
    }
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i] && launched_.launch_of[i] != attribution::none) calls_[launched_.launch_of[i]] = true;
    }
  }

  template <class Record, class IsWanted>
  static void keep(own_vector<Record>& records, IsWanted const& is_wanted) {
    records.erase(std::remove_if(records.begin(), records.end(), [&](Record const& each) { return !is_wanted(each); }), records.end());
  }

  template <class Record>
  static void keep_marked(own_vector<Record>& records, own_vector<bool> const& marks) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i]) records[kept++] = records[i];
    }
    records.resize(kept);
  }

  profile const& profile_;
  attribution const& launched_;
  timestamp border_;
  bool has_steps_;
  own_vector<scope_record> const& open_;
  timestamp first_moment_{};  ///< steps and scopes of launches are needed from here on
  own_vector<bool> calls_;    ///< whether each call is needed
  own_vector<bool> operations_;
};

}  // namespace PROFKIT_NAMESPACE::detail
