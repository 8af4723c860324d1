// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../time/measured_time.hpp"
#include "timeline_segments.hpp"

namespace profkit::detail {

/// The activity of the step thread during the given steps.
class host_segments {
 public:
  /// @param steps in time order.
  host_segments(profile const& profile, attribution const& launched, own_vector<interval> const& steps) {
    std::optional<std::uint32_t> const thread = thread_of_steps(profile, measured_time::of_stretches(steps));
    if (!thread || steps.empty()) return;
    own_vector<scope_record> scopes;
    for (std::uint32_t const each : launched.lanes.scopes(launched.lanes.lane_of(*thread))) {
      scope_record const& scope = profile.scopes[each];
      if (steps.front().begin <= scope.time.begin && scope.time.begin < steps.back().end) scopes.push_back(scope);
    }
    own_stable_sort(scopes.begin(), scopes.end(), [](scope_record const& a, scope_record const& b) {
      return a.time.begin != b.time.begin ? a.time.begin < b.time.begin : a.time.end > b.time.end;
    });
    cut(scopes);
    for (scope_record const& each : scopes) {
      std::uint32_t const parent = profile.paths[each.path].parent;
      if (parent != path_record::no_parent && profile.paths[parent].is_step) stages_.push_back({each.time, each.path});
    }
  }

  /// The innermost open scope at each moment.
  [[nodiscard]] own_vector<charged_segment> const& innermost() const noexcept { return innermost_; }

  /// @return the time of the direct children of a step, by path.
  [[nodiscard]] std::map<std::uint32_t, std::chrono::nanoseconds> stages(interval const& step) const {
    std::map<std::uint32_t, std::chrono::nanoseconds> result;
    charge(result, stages_, step);
    return result;
  }

  /// Sorts stages by their first beginning in a step. Paths with another parent than the step come last.
  void sort_by_time(own_vector<path_time>& stages, interval const& step) const {
    std::map<std::uint32_t, timestamp> begins;
    for (std::size_t i = first_after(stages_, step.begin, time_of_segment); i < stages_.size() && stages_[i].time.begin < step.end; ++i)
      begins.try_emplace(stages_[i].path, stages_[i].time.begin);
    auto const begin_of = [&](path_time const& stage) {
      auto const at = begins.find(stage.path);
      return at == begins.end() ? timestamp::max() : at->second;
    };
    own_stable_sort(stages.begin(), stages.end(), [&](path_time const& a, path_time const& b) { return begin_of(a) < begin_of(b); });
  }

 private:
  /// @param scopes nested, in the order of their beginnings, outer ones first.
  void cut(own_vector<scope_record> const& scopes) {
    own_vector<scope_record const*> open;
    timestamp from = timestamp::min();
    auto const until = [&](timestamp moment) {
      while (!open.empty() && open.back()->time.end <= moment) {
        put({from, open.back()->time.end}, open.back()->path);
        from = std::max(from, open.back()->time.end);
        open.pop_back();
      }
      if (!open.empty()) put({from, moment}, open.back()->path);
      from = std::max(from, moment);
    };
    for (scope_record const& each : scopes) {
      until(each.time.begin);
      open.push_back(&each);
    }
    while (!open.empty()) until(open.back()->time.end);
  }

  void put(interval const& time, std::uint32_t path) {
    if (time.begin < time.end) innermost_.push_back({time, path});
  }

  own_vector<charged_segment> innermost_;
  own_vector<charged_segment> stages_;
};

}  // namespace profkit::detail
