// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile_follower.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../time/adopted_scopes.hpp"
#include "../time/thread_timeline.hpp"
#include "window_stream.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Whether the figures or the end of a window depend on launching calls or on the nesting of scopes.
inline bool needs_attribution(profile const& profile) {
  return has_kernels(profile) || has_adopted(profile.paths) || !profile.api_calls.empty() || !profile.gpu_operations.empty() ||
         !profile.communicators.empty();
}

/// Finds the end of the next window: the latest time before which later records cannot change the figures.
class window_border {
 public:
  /// @param profile records from `from` on, with the earlier records that they need.
  /// @param from the end of the previous window.
  window_border(profile const& profile, attribution const& launched, arrival const& until, timestamp from, window_waits const& waits)
      : profile_{profile}, launched_{launched}, until_{until}, from_{from}, waits_{waits} {
    bool const is_in_order = until.has_steps || !profile.allocators.empty() || needs_attribution(profile);
    auto const wait = is_in_order ? waits.for_threads : std::min(waits.for_threads, waits.for_threads_in_any_order);
    all_arrived_ = std::min(until.logs_until, std::max(until.logs_until, until.read_at) - wait);
    find_calls_without_operations();
  }

  /// @return the border; nothing if no later border is possible yet.
  [[nodiscard]] std::optional<timestamp> find() const {
    timestamp const limit = latest();
    std::optional<timestamp> result = until_.has_steps ? last_step_end(limit) : before_unfinished_graphs(limit);
    if (result && *result <= from_) result.reset();
    return result;
  }

 private:
  /// Finds open calls and calls whose operations have not arrived. Calls after them are not known to be complete.
  void find_calls_without_operations() {
    if (until_.open_call && is_recent(*until_.open_call)) all_arrived_ = std::min(all_arrived_, *until_.open_call);
    own_vector<bool> const is_launching = are_launching(profile_.api_names);
    own_vector<bool> const& has_operation = launched_.has_operation;
    timestamp last_launch = timestamp::min();  // last launching call with known operations
    for (std::size_t i = 0; i < profile_.api_calls.size(); ++i) {
      if (has_operation[i]) last_launch = std::max(last_launch, profile_.api_calls[i].time.end);
    }
    for (std::size_t i = 0; i < profile_.api_calls.size(); ++i) {
      api_call_record const& call = profile_.api_calls[i];
      if (!is_launching[call.name] || has_operation[i] || middle_of(call.time) < from_ || !is_recent(call.time.end)) continue;
      if (call.time.end < last_launch && last_launch - call.time.end >= waits_.for_operations) continue;
      all_arrived_ = std::min(all_arrived_, call.time.begin);
    }
  }

  [[nodiscard]] bool is_recent(timestamp moment) const { return until_.logs_until - moment < waits_.for_work; }

  /// The latest border before missing data.
  [[nodiscard]] timestamp latest() const {
    timestamp result = all_arrived_;
    if (until_.unread_gpu_scope) result = std::min(result, *until_.unread_gpu_scope);
    if (!until_.has_steps) return result;
    own_vector<interval> const steps = until_.open_scopes.empty() ? own_vector<interval>{} : steps_by_end();
    for (scope_record const& scope : until_.open_scopes) {
      bool const is_waited_for = until_.logs_until - scope.time.begin < waits_.for_scopes;
      if (is_waited_for && is_in_step(steps, scope.time.begin)) result = std::min(result, scope.time.begin);
    }
    if (until_.times_steps) {
      std::uint64_t timed = 0;
      for (gpu_step_record const& each : profile_.gpu_steps) timed = std::max(timed, each.step + 1);
      for (step_record const& step : profile_.steps) {
        if (step.index >= timed && step.time.begin >= from_ && is_recent(step.time.end)) result = std::min(result, step.time.begin);
      }
    }
    return result;
  }

  [[nodiscard]] own_vector<interval> steps_by_end() const {
    own_vector<interval> result;
    result.reserve(profile_.steps.size());
    for (step_record const& step : profile_.steps) result.push_back(step.time);
    std::sort(result.begin(), result.end(), [](interval const& a, interval const& b) { return a.end < b.end; });
    return result;
  }

  /// @param steps result of `steps_by_end`; steps do not overlap.
  static bool is_in_step(own_vector<interval> const& steps, timestamp moment) {
    auto const at =
        std::upper_bound(steps.begin(), steps.end(), moment, [](timestamp wanted, interval const& step) { return wanted < step.end; });
    return at != steps.end() && at->begin <= moment;
  }

  /// The border in a session without steps: before graphs with recent operations, and before the possible beginnings of operations with an
  /// unknown call.
  [[nodiscard]] timestamp before_unfinished_graphs(timestamp limit) const {
    if (!has_kernels(profile_)) return limit;
    limit = std::min(limit, until_.logs_until - waits_.for_graphs);
    for (std::size_t i = 0; i < profile_.gpu_operations.size(); ++i) {
      gpu_operation_record const& each = profile_.gpu_operations[i];
      if (each.graph_node != 0 && until_.logs_until - each.time.end < waits_.for_graphs)
        limit = std::min(limit, launch_moment(profile_, launched_, i));
    }
    return limit;
  }

  /// The end of a step that is followed by a step with GPU work. So the next operation is known, and everything that ran in the steps
  /// before the border is complete before any unknown launch.
  [[nodiscard]] std::optional<timestamp> last_step_end(timestamp limit) const {
    own_vector<interval> steps;
    for (step_record const& step : profile_.steps) {
      if (step.time.begin >= from_ && step.time.end <= limit) steps.push_back(step.time);
    }
    std::sort(steps.begin(), steps.end(), [](interval const& a, interval const& b) { return a.end < b.end; });
    own_vector<work_at_border> const works = works_at_ends_of(steps);
    bool const collects_kernels = has_kernels(profile_);
    timestamp last_work = timestamp::min();  // beginning of the last step with GPU work
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (works[i].is_launched_in_step) last_work = steps[i].begin;
    }
    // All steps that begin before the end of the last GPU period are known, as `steps_ahead` requires.
    timestamp last_end = timestamp::min();
    for (step_record const& step : profile_.steps) last_end = std::max(last_end, step.time.end);
    timestamp const settled = std::min({all_arrived_, until_.logs_until - waits_.for_graphs, last_end});
    for (std::size_t i = steps.size(); i-- > 0;) {
      timestamp const border = steps[i].end;
      if (works[i].last_end > settled && is_recent(border)) continue;
      if (!collects_kernels || !is_recent(border)) return border;
      // The pause before the border is launch-bound if a launching call follows soon. So it must be known whether one follows.
      bool const knows_next_call = border + max_launch_pause <= all_arrived_;
      if (border <= last_work && works[i].next_begin <= all_arrived_ && knows_next_call) return border;
    }
    return std::nullopt;
  }

  /// GPU operations as seen from the end of a step.
  struct work_at_border {
    bool is_launched_in_step = false;
    timestamp last_end = timestamp::min();    ///< last end of operations launched before the border
    timestamp next_begin = timestamp::max();  ///< first begin of operations at the border or later
  };

  /// Counts ended steps for many moments, fast if consecutive moments are close.
  class ended_steps {
   public:
    explicit ended_steps(own_vector<interval>&&) = delete;  // borrowed, so no converted temporary
    explicit ended_steps(own_vector<interval> const& steps) : steps_{steps} {}

    [[nodiscard]] std::size_t operator()(timestamp moment) {
      while (count_ > 0 && steps_[count_ - 1].end > moment) --count_;
      while (count_ < steps_.size() && steps_[count_].end <= moment) ++count_;
      return count_;
    }

   private:
    own_vector<interval> const& steps_;
    std::size_t count_ = 0;
  };

  /// @param steps in time order, disjoint.
  [[nodiscard]] own_vector<work_at_border> works_at_ends_of(own_vector<interval> const& steps) const {
    own_vector<work_at_border> result(steps.size());
    ended_steps before_launch{steps};
    ended_steps before_begin{steps};
    for (std::size_t i = 0; i < profile_.gpu_operations.size(); ++i) {
      interval const& time = profile_.gpu_operations[i].time;
      timestamp const launch = launch_moment(profile_, launched_, i);
      if (std::size_t const next = before_launch(launch); next < steps.size()) {
        result[next].last_end = std::max(result[next].last_end, time.end);
        if (steps[next].begin <= launch) result[next].is_launched_in_step = true;
      }
      if (std::size_t const ended = before_begin(time.begin); ended > 0)
        result[ended - 1].next_begin = std::min(result[ended - 1].next_begin, time.begin);
    }
    for (std::size_t i = 1; i < result.size(); ++i) result[i].last_end = std::max(result[i].last_end, result[i - 1].last_end);
    for (std::size_t i = result.size(); i-- > 1;) result[i - 1].next_begin = std::min(result[i - 1].next_begin, result[i].next_begin);
    return result;
  }

  profile const& profile_;
  attribution const& launched_;
  arrival const& until_;
  timestamp from_;
  window_waits const& waits_;
  timestamp all_arrived_;  ///< the operations of all earlier launching calls have arrived
};

}  // namespace PROFKIT_NAMESPACE::detail
