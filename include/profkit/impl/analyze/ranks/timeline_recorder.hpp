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
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../time/measured_time.hpp"
#include "../window.hpp"
#include "found_collectives.hpp"
#include "timeline_part.hpp"
#include "timeline_segments.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The activity of the step thread during the given steps and between them.
class host_segments {
 public:
  /// @param steps in time order.
  /// @param around the steps, each with the time between it and the step before.
  host_segments(profile const& profile, attribution const& launched, own_vector<interval> const& steps,
                own_vector<interval> const& around) {
    std::optional<std::uint32_t> const thread = thread_of_steps(profile, measured_time::of_stretches(steps));
    if (!thread || steps.empty()) return;
    own_vector<scope_record> scopes;
    for (std::uint32_t const each : launched.lanes.scopes(launched.lanes.lane_of(*thread))) {
      scope_record const& scope = profile.scopes[each];
      std::size_t const step = first_after(around, scope.time.begin, itself);
      if (step == around.size() || scope.time.begin < around[step].begin) continue;
      scopes.push_back(scope);
      // Another window does not know a scope that is still open there.
      timestamp const last = scope.time.begin < steps[step].begin ? steps[step].begin : steps[step].end;
      scopes.back().time.end = std::min(scope.time.end, last);
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

  /// Whether a scope was open in a stretch.
  [[nodiscard]] bool knows(interval const& stretch) const {
    std::size_t const next = first_after(innermost_, stretch.begin, time_of_segment);
    return next < innermost_.size() && innermost_[next].time.begin < stretch.end;
  }

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
    if (found.all.empty() && records_.communicators.empty()) return {};
    own_vector<draft> steps = own_steps();
    place(found, steps);
    if (records_.communicators.empty()) {  // kernels of NCCL by their names: without one, a window of the session has no timeline
      steps.erase(std::remove_if(steps.begin(), steps.end(), [](draft const& each) { return each.collectives.empty(); }), steps.end());
    }
    if (steps.empty()) return {};
    if (operations_ != nullptr) add_operations(found, steps);
    pending_work pending;
    rank_timeline result = content(found, steps, pending);
    return timeline_part{std::move(result), std::move(pending), begins_in_step(found, steps)};
  }

 private:
  static constexpr std::size_t max_parts = 24;  ///< limit for the scopes and intervals of a collective, and for the scopes of a step
  static constexpr std::size_t max_shown = 16;  ///< limit for the computing intervals of a step

  /// A step of the window.
  struct draft {
    step_record const* record = nullptr;
    timestamp from{};                                       ///< the end of the step before it
    own_vector<std::size_t> collectives;                    ///< positions in `found_collectives::all`; also those since `from`
    operation_span span;                                    ///< span of the operations launched in it
    own_vector<interval> compute;                           ///< union of its operations that are not collectives
    std::map<std::uint32_t, std::chrono::nanoseconds> gpu;  ///< `compute` by path; each moment belongs to the operation that began first
    own_vector<charged_segment> segments;                   ///< the same, with the operations launched since `from`
    timestamp busy_until = timestamp::min();
  };

  [[nodiscard]] own_vector<draft> own_steps() const {
    own_vector<draft> result;
    for (step_record const& each : records_.steps) {
      if (each.time.begin < frame_.own.begin || each.time.begin >= frame_.own.end) continue;
      result.push_back({});
      result.back().record = &each;
    }
    std::sort(result.begin(), result.end(), [](draft const& a, draft const& b) { return a.record->time.begin < b.record->time.begin; });
    // A window begins at the end of a step, if there is one before it.
    bool const is_first = std::none_of(records_.steps.begin(), records_.steps.end(),
                                       [&](step_record const& each) { return each.time.end == frame_.own.begin; });
    for (std::size_t i = 0; i < result.size(); ++i) {
      timestamp const begin = result[i].record->time.begin;
      result[i].from = i > 0 ? result[i - 1].record->time.end : is_first ? begin : frame_.own.begin;
    }
    result.erase(std::remove_if(result.begin(), result.end(), [](draft const& each) { return !each.record->has_kernels; }), result.end());
    return result;
  }

  /// @return the step that contains a moment or follows it.
  static draft* step_at(own_vector<draft>& steps, timestamp moment) {
    auto const after = std::upper_bound(steps.begin(), steps.end(), moment, [](timestamp at, draft const& each) { return at < each.from; });
    if (after == steps.begin()) return nullptr;
    draft& step = *std::prev(after);
    return moment < step.record->time.end || moment == step.record->time.begin ? &step : nullptr;
  }

  /// Whether the first collective is in a step, not between two steps.
  static bool begins_in_step(found_collectives const& found, own_vector<draft> const& steps) {
    for (draft const& step : steps) {
      for (std::size_t const each : step.collectives) {
        if (!found.all[each].is_unknown) return found.all[each].issued >= step.record->time.begin;
      }
    }
    return false;
  }

  /// Work that was launched in another step does not count, because that step may be in another window.
  void add_operations(found_collectives const& found, own_vector<draft>& steps) const {
    for (timed_operation const& each : operations_->all()) {
      timestamp const moment = launch_moment(records_, launched_, each.record);
      draft* const step = step_at(steps, moment);
      if (step == nullptr) continue;
      bool const is_inside = moment >= step->record->time.begin;
      if (is_inside) step->span.add(each.time);
      if (found.is_collective(each.record)) continue;
      if (is_inside) add_to_union(step->compute, each.time);
      timestamp const from = std::max(step->busy_until, each.time.begin);
      step->busy_until = std::max(step->busy_until, each.time.end);
      if (from >= each.time.end) continue;
      step->segments.push_back({{from, each.time.end}, each.path});
      if (is_inside) step->gpu[each.path] += each.time.end - from;
    }
  }

  static void place(found_collectives const& found, own_vector<draft>& steps) {
    for (std::size_t i = 0; i < found.all.size(); ++i) {
      if (draft* const step = step_at(steps, found.all[i].issued)) step->collectives.push_back(i);
    }
  }

  /// When the GPU worked, or the host was in a collective.
  [[nodiscard]] own_vector<interval> busy_times(found_collectives const& found) const {
    own_vector<interval> result = found.on_host;
    for (std::size_t i = 0; operations_ != nullptr && i < operations_->all().size(); ++i) result.push_back(operations_->all()[i].time);
    return union_of(std::move(result));
  }

  /// @param pending receives the work after the last collective.
  [[nodiscard]] rank_timeline content(found_collectives const& found, own_vector<draft> const& steps, pending_work& pending) const {
    rank_timeline result;
    result.kinds = found.kinds;
    result.has_numbers = found.has_numbers;
    own_vector<interval> of_steps;
    of_steps.reserve(steps.size());
    own_vector<interval> around;
    for (draft const& each : steps) {
      of_steps.push_back(each.record->time);
      around.push_back({each.from, each.record->time.end});
    }
    host_segments const host{records_, launched_, of_steps, around};
    own_vector<interval> const busy = busy_times(found);
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
      add_collectives(result, step, found, each, host, busy, pending);
      auto const is_inside = [&](std::size_t position) { return found.all[position].issued >= step.host.begin; };
      if (std::none_of(each.collectives.begin(), each.collectives.end(), is_inside)) continue;
      step.gpu = folded(each.gpu, records_.paths, max_parts);
      step.computing = each.compute;
      limit(step.computing, max_shown);
      step.compute = has_work ? length_of(each.compute) : step.host.duration() - step.communication;
      if (!has_work) step.exposed = step.communication;
      result.steps.push_back(std::move(step));
    }
    return result;
  }

  /// @param busy when the GPU worked, or the host was in a collective.
  /// @param pending the work since the last collective.
  void add_collectives(rank_timeline& to, timeline_step& step, found_collectives const& found, draft const& from, host_segments const& host,
                       own_vector<interval> const& busy, pending_work& pending) const {
    timestamp since = timestamp::min();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> replays;  // by group and position in the capture
    timestamp covered = timestamp::min();                                      // up to here, earlier collectives of the step cover the time
    for (std::size_t const position : from.collectives) {
      found_collective const& each = found.all[position];
      bool const is_inside = each.issued >= step.host.begin;
      timeline_collective next;
      next.step = step.index;
      next.sequence = each.graph_node == 0
                          ? each.sequence
                          : number_of_replayed(step.index, replays[{each.capture_group, each.capture_order}]++, each.capture_order);
      next.bytes = each.bytes;
      next.kind = each.kind;
      next.path = each.path;
      next.time = each.time;
      next.posted = each.time.begin;
      if (each.record != attribution::none) {
        collective_record const& record = records_.collectives[each.record];
        if (record.posted != timestamp{}) next.posted = std::min(next.posted, record.posted);
        next.side = record.side;
        next.partner = record.partner;
        next.tag = record.tag;
      }
      if (is_inside) {
        interval const fresh{std::max(each.time.begin, std::min(covered, each.time.end)), each.time.end};
        next.exposed = uncovered(fresh, from.compute);
        if (from.span.is_empty()) {
          // The step is measured on the host, and the collective may run on in another thread after its end.
          step.communication += std::max(std::chrono::nanoseconds{}, std::min(fresh.end, step.host.end) - fresh.begin);
        } else {
          step.communication += fresh.duration();
          step.exposed += length_of(next.exposed);
        }
        if (!to.collectives.empty()) {
          timeline_collective const& before = to.collectives.back();
          bool const is_same_wait = before.step == next.step && before.time.begin == next.time.begin && before.time.end == next.time.end;
          if (is_same_wait) next.exposed = before.exposed;  // of several requests
        }
        covered = std::max(covered, each.time.end);
        if (each.is_unknown) ++to.unknown_collectives;
        if (each.is_in_graph) ++to.graph_collectives;
      }
      if (each.is_unknown) continue;
      add_work(pending, from, host, busy, {since, each.time.begin});
      // A collective on the host blocks its thread; work that overlaps a collective on the GPU counts for the next one.
      since = std::max(since, found.kinds[each.kind].is_host ? each.time.end : each.time.begin);
      if (is_inside) {
        limit(next.exposed, max_parts);
        next.busy = std::move(pending.busy);
        next.idle = std::move(pending.idle);
        to.collectives.push_back(std::move(next));
      }
      pending = {};
      pending.is_after_collective = true;
    }
    add_work(pending, from, host, busy, {since, timestamp::max()});
  }

  /// Adds the work of a step in some time, with the work between this step and the one before it.
  void add_work(pending_work& to, draft const& from, host_segments const& host, own_vector<interval> const& busy,
                interval const& time) const {
    if (time.end <= time.begin) return;
    std::map<std::uint32_t, std::chrono::nanoseconds> charged;
    charge(charged, from.segments, time);
    add_times(to.busy, folded(std::exchange(charged, {}), records_.paths, max_parts));
    interval const on_host{std::max(time.begin, from.from), std::min(time.end, from.record->time.end)};
    if (on_host.end <= on_host.begin || !host.knows({from.from, from.record->time.end})) return;
    for (interval const& gap : uncovered(on_host, busy)) {
      std::chrono::nanoseconds const outside = gap.duration() - charge(charged, host.innermost(), gap);
      if (outside.count() > 0) charged[attribution::none] += outside;
    }
    add_times(to.idle, folded(std::move(charged), records_.paths, max_parts));
  }

  profile const& records_;
  window_frame const& frame_;
  attribution const& launched_;
  counted_operations const* operations_;
};

}  // namespace PROFKIT_NAMESPACE::detail
