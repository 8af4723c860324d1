// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../time/measured_time.hpp"
#include "../window.hpp"
#include "found_collectives.hpp"
#include "timeline_part.hpp"
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

/// Creates the timeline of a window. It contains the steps in which a collective was issued.
class timeline_recorder {
 public:
  /// @param launched `attribute(records)`.
  /// @param operations all operations of the window; null if kernels were not collected.
  timeline_recorder(profile const& records, window_frame const& frame, attribution const& launched, counted_operations const* operations)
      : records_{records}, frame_{frame}, launched_{launched}, operations_{operations} {}

  [[nodiscard]] timeline_part make() const {
    found_collectives const found{records_, launched_, operations_};
    if (found.all.empty()) return {};
    own_vector<draft> steps = own_steps();
    place(found, steps);
    steps.erase(std::remove_if(steps.begin(), steps.end(), [](draft const& each) { return each.collectives.empty(); }), steps.end());
    if (steps.empty()) return {};
    for (draft& each : steps) find_period(each);
    if (operations_ != nullptr) add_operations(found, steps);
    for (interval const& each : found.on_host) {
      if (draft* const step = step_at(steps, each.begin)) step->busy.push_back(each);
    }
    return timeline_part{content(found, steps)};
  }

 private:
  static constexpr std::size_t max_parts = 24;  ///< limit for the scopes and intervals of a collective, and for the scopes of a step
  static constexpr std::size_t max_shown = 16;  ///< limit for the computing intervals of a step

  /// A step of the window.
  struct draft {
    step_record const* record = nullptr;
    std::size_t position = 0;              ///< position in `profile::steps`
    own_vector<std::size_t> collectives;   ///< positions in `found_collectives::all`
    operation_span span;                   ///< span of the operations launched in it
    own_vector<interval> compute;          ///< union of its operations that are not collectives
    timestamp period = timestamp::min();   ///< beginning of its GPU period
    own_vector<interval> busy;             ///< intervals of all its operations and of collectives on the host; not in order
    own_vector<charged_segment> segments;  ///< `compute` by path; each moment belongs to the operation that began first
    timestamp busy_until = timestamp::min();
  };

  [[nodiscard]] own_vector<draft> own_steps() const {
    own_vector<draft> result;
    for (std::size_t i = 0; i < records_.steps.size(); ++i) {
      step_record const& each = records_.steps[i];
      if (!each.has_kernels || each.time.begin < frame_.own.begin || each.time.begin >= frame_.own.end) continue;
      result.push_back({});
      result.back().record = &each;
      result.back().position = i;
    }
    std::sort(result.begin(), result.end(), [](draft const& a, draft const& b) { return a.record->time.begin < b.record->time.begin; });
    return result;
  }

  static draft* step_at(own_vector<draft>& steps, timestamp moment) {
    auto const after =
        std::upper_bound(steps.begin(), steps.end(), moment, [](timestamp at, draft const& each) { return at < each.record->time.begin; });
    if (after == steps.begin()) return nullptr;
    draft& step = *std::prev(after);
    return moment < step.record->time.end || moment == step.record->time.begin ? &step : nullptr;
  }

  /// Work that was launched in another step does not count, because that step may be in another window.
  void add_operations(found_collectives const& found, own_vector<draft>& steps) const {
    for (timed_operation const& each : operations_->all()) {
      draft* const step = step_at(steps, launch_moment(records_, launched_, each.record));
      if (step == nullptr) continue;
      step->span.add(each.time);
      step->busy.push_back(each.time);
      if (found.is_collective(each.record)) continue;
      add_to_union(step->compute, each.time);
      timestamp const from = std::max(step->busy_until, each.time.begin);
      if (from < each.time.end) step->segments.push_back({{from, each.time.end}, each.path});
      step->busy_until = std::max(step->busy_until, each.time.end);
    }
  }

  static void place(found_collectives const& found, own_vector<draft>& steps) {
    for (std::size_t i = 0; i < found.all.size(); ++i) {
      if (draft* const step = step_at(steps, found.all[i].issued)) step->collectives.push_back(i);
    }
  }

  void find_period(draft& step) const {
    step.period = step.record->time.begin;
    if (operations_ == nullptr) return;
    for (auto const* const list : {&frame_.gpu_steps.measured, &frame_.gpu_steps.warmup}) {
      auto const at = std::partition_point(list->begin(), list->end(), [&](gpu_step_period const& each) {
        return records_.steps[each.step].time.begin < step.record->time.begin;
      });
      if (at != list->end() && at->step == step.position) step.period = at->time.begin;
    }
  }

  [[nodiscard]] rank_timeline content(found_collectives const& found, own_vector<draft> const& steps) const {
    rank_timeline result;
    result.kinds = found.kinds;
    result.has_numbers = found.has_numbers;
    own_vector<interval> of_steps;
    of_steps.reserve(steps.size());
    for (draft const& each : steps) of_steps.push_back(each.record->time);
    host_segments const host{records_, launched_, of_steps};
    for (draft const& each : steps) {
      timeline_step step;
      step.index = each.record->index;
      step.is_measured = each.record->is_measured();
      step.host = each.record->time;
      bool const has_work = !each.span.is_empty();
      step.begin = has_work ? each.span.begin : step.host.begin;
      step.end = has_work ? each.span.end : step.host.end;
      step.stages = folded(host.stages(step.host), records_.paths, max_parts);
      host.sort_by_time(step.stages, step.host);
      add_collectives(result, step, found, each, host);
      step.gpu = gpu_times(each);
      step.computing = each.compute;
      limit(step.computing, max_shown);
      step.compute = has_work ? length_of(each.compute) : step.host.duration() - step.communication;
      if (!has_work) step.exposed = step.communication;
      result.steps.push_back(std::move(step));
    }
    return result;
  }

  [[nodiscard]] own_vector<path_time> gpu_times(draft const& from) const {
    std::map<std::uint32_t, std::chrono::nanoseconds> times;
    for (charged_segment const& each : from.segments) times[each.path] += each.time.duration();
    return folded(std::move(times), records_.paths, max_parts);
  }

  void add_collectives(rank_timeline& to, timeline_step& step, found_collectives const& found, draft const& from,
                       host_segments const& host) const {
    timestamp since = from.period;
    timestamp covered = timestamp::min();  // up to here, earlier collectives of the step cover the time
    own_vector<interval> const all_busy = union_of(from.busy);
    for (std::size_t const position : from.collectives) {
      found_collective const& each = found.all[position];
      timeline_collective next;
      next.step = step.index;
      next.sequence = each.sequence;
      next.bytes = each.bytes;
      next.kind = each.kind;
      next.path = each.path;
      next.time = each.time;
      interval const fresh{std::max(each.time.begin, std::min(covered, each.time.end)), each.time.end};
      next.exposed = uncovered(fresh, from.compute);
      if (from.span.is_empty()) {
        // The step is measured on the host, and the collective may run on in another thread after its end.
        step.communication += std::max(std::chrono::nanoseconds{}, std::min(fresh.end, step.host.end) - fresh.begin);
      } else {
        step.communication += fresh.duration();
        step.exposed += length_of(next.exposed);
      }
      covered = std::max(covered, each.time.end);
      if (each.is_unknown) {
        ++to.unknown_collectives;
        if (each.is_in_graph) ++to.graph_collectives;
        continue;
      }
      limit(next.exposed, max_parts);
      if (since < each.time.begin) {
        std::map<std::uint32_t, std::chrono::nanoseconds> busy;
        charge(busy, from.segments, {since, each.time.begin});
        next.busy = folded(std::move(busy), records_.paths, max_parts);
        std::map<std::uint32_t, std::chrono::nanoseconds> idle;
        interval const before{std::max(since, step.host.begin), std::min(each.time.begin, step.host.end)};
        if (before.begin < before.end) {
          for (interval const& gap : uncovered(before, all_busy)) charge(idle, host.innermost(), gap);
        }
        next.idle = folded(std::move(idle), records_.paths, max_parts);
      }
      // A collective on the host blocks its thread; work that overlaps a collective on the GPU counts for the next one.
      since = std::max(since, found.kinds[each.kind].is_host ? each.time.end : each.time.begin);
      to.collectives.push_back(std::move(next));
    }
  }

  profile const& records_;
  window_frame const& frame_;
  attribution const& launched_;
  counted_operations const* operations_;
};

}  // namespace profkit::detail
