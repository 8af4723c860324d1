// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../kinds/step_kinds.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../time/quantiles.hpp"
#include "../time/thread_timeline.hpp"
#include "../windows/state.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// An interval in a measured step without a running operation on any device.
struct idle_stretch {
  interval time;
  std::uint32_t next_launch = attribution::none;  ///< the API call that launched the operation that ends it; `none` if unknown

  /// The operation that ends it was already launched, but had not started.
  bool is_queued = false;

  std::size_t step = 0;  ///< the step that contains it: position in `measured_time::steps`
};

/// Clips intervals to the measured steps. Intervals are given in time order.
class step_clip {
 public:
  explicit step_clip(measured_time const& when) : first_{when.steps().begin()}, next_{first_}, last_{when.steps().end()} {}

  /// @param visit called with each part and the position of its step.
  template <class Visit>
  void operator()(interval const& whole, Visit const& visit) {
    skip_to(whole.begin);
    for (auto step = next_; step != last_ && step->begin < whole.end; ++step) {
      visit(interval{std::max(step->begin, whole.begin), std::min(step->end, whole.end)}, static_cast<std::size_t>(step - first_));
    }
  }

  /// @return the position of the step that contains the interval; n/a if no single step contains all of it.
  [[nodiscard]] std::optional<std::size_t> step_around(interval const& whole) {
    skip_to(whole.begin);
    if (next_ == last_ || whole.begin < next_->begin || next_->end < whole.end) return std::nullopt;
    auto const after = std::next(next_);
    if (after != last_ && after->begin < whole.end) return std::nullopt;
    return static_cast<std::size_t>(next_ - first_);
  }

 private:
  void skip_to(timestamp moment) {
    while (next_ != last_ && next_->end <= moment) ++next_;
  }

  own_vector<interval>::const_iterator first_;
  own_vector<interval>::const_iterator next_;
  own_vector<interval>::const_iterator last_;
};

/// Finds the idle stretches, in time order. If the operation that ends a stretch was launched during the stretch, the stretch is cut at the
/// end of the launching call.
inline own_vector<idle_stretch> find_idle_stretches(profile const& profile, attribution const& launched, measured_time const& when,
                                                    counted_operations const& operations) {
  own_vector<idle_stretch> result;
  step_clip clip{when};
  auto const add = [&](timestamp from, timestamp to, std::uint32_t next_launch, bool is_queued) {
    if (from < to)
      clip({from, to}, [&](interval const& part, std::size_t step) { result.push_back({part, next_launch, is_queued, step}); });
  };
  timestamp busy_until = timestamp::min();
  for (timed_operation const& each : operations.all()) {
    interval const& time = each.time;
    if (time.begin > busy_until) {
      std::uint32_t const launch = launched.launch_of[each.record];
      timestamp const launched_at =
          launch == attribution::none ? time.begin : std::clamp(profile.api_calls[launch].time.end, busy_until, time.begin);
      add(busy_until, launched_at, launch, false);
      add(launched_at, time.begin, launch, true);
    }
    busy_until = std::max(busy_until, time.end);
  }
  add(busy_until, timestamp::max(), attribution::none, false);
  return result;
}

/// GPU idle time of the measured steps by scope and cause: wall time without a running operation on any device. Figures of several
/// stretches of time add up.
struct gpu_idle {
  using causes = std::array<std::chrono::nanoseconds, idle_causes>;

  struct times {
    std::chrono::nanoseconds inclusive{};  ///< charged to the scopes with this path or to scopes inside them
    std::chrono::nanoseconds self{};
    causes self_by_cause{};

    auto members() { return listed(summed(inclusive), summed(self), summed(self_by_cause)); }
  };

  bool has_operations = false;
  bool has_launching_calls = false;
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds unattributed{};  ///< outside any scope; all idle time if the profile has no scopes of the steps
  causes unattributed_by_cause{};
  own_vector<std::optional<times>> of_path;  ///< n/a without a scope on the step thread or one that works for it

  auto members() {
    return listed(has_operations, has_launching_calls, summed(total), summed(unattributed), summed(unattributed_by_cause), of_path);
  }

  /// False: no launching call was recorded, so launch-bound and host-bound time cannot be distinguished.
  [[nodiscard]] bool has_launches() const noexcept { return has_launching_calls || !has_operations; }

  /// @return n/a if all scopes with this name are on other threads.
  [[nodiscard]] std::optional<gpu_idle_summary> of_name(path_tree::name_group const& name) const {
    std::optional<times> sum;
    auto const add = [&](std::uint32_t path, std::chrono::nanoseconds times::*time) {
      if (!of_path[path]) return;
      if (!sum) sum.emplace();
      (*sum).*time += (*of_path[path]).*time;
    };
    for (std::uint32_t const path : name.outermost) add(path, &times::inclusive);
    for (std::uint32_t const path : name.paths) add(path, &times::self);
    return summary_of(sum);
  }

  [[nodiscard]] static std::optional<gpu_idle_summary> summary_of(std::optional<times> const& times) {
    if (!times) return std::nullopt;
    return gpu_idle_summary{to_ms(times->inclusive), to_ms(times->self)};
  }
};

/// Finds the step thread: the thread whose scope begins and ends with a measured step.
/// @return position in `profile::threads`; nothing if the profile has no scope of a measured step.
inline std::optional<std::uint32_t> thread_of_steps(profile const& profile, measured_time const& when) {
  if (!when.has_steps()) return std::nullopt;
  measured_time_cursor in{when};
  for (scope_record const& scope : profile.scopes) {
    if (!profile.paths[scope.path].is_step) continue;
    std::uint32_t const position = in.step_of(scope.time.begin);
    if (position == no_step) continue;
    interval const& step = when.steps()[position];
    if (scope.time.begin == step.begin && scope.time.end == step.end) return scope.thread;
  }
  return std::nullopt;
}

/// A part of an idle stretch with one cause and one scope.
struct charged_idle {
  interval time;
  idle_cause cause = idle_cause::host;
  std::uint32_t path = attribution::none;  ///< position in `profile::paths`; `none`: outside any scope
};

/// Charges idle stretches to scopes. An idle stretch is attributed to the thread that launched the operation that ends it. The scope is the
/// innermost one on that thread if it lies inside a scope that is open on the step thread (through adoption); otherwise the innermost scope
/// on the step thread.
class idle_charging {
 public:
  /// @param calls result of `calls_by_lane`.
  /// @param kinds the kinds of the steps that contain the stretches.
  /// @param parts receives all parts, in no particular order; null if only their sums are needed.
  idle_charging(profile const& profile, attribution const& launched, own_vector<thread_calls> const& calls,
                std::optional<std::uint32_t> steps_thread, kind_positions const& kinds, own_vector<charged_idle>* parts = nullptr)
      : profile_{profile}, launched_{launched}, calls_{calls}, kinds_{kinds}, parts_{parts}, result_(kinds.count) {
    if (steps_thread) steps_lane_ = launched.lanes.lane_of(*steps_thread);
    for (gpu_idle& each : result_) each.of_path.resize(profile.paths.size());
    result_.front().has_operations = !profile.gpu_operations.empty();
    result_.front().has_launching_calls =
        std::any_of(calls_.begin(), calls_.end(), [](thread_calls const& each) { return each.has_launches(); });
    if (steps_lane_) steps_timeline_.emplace(profile, launched.lanes.scopes(*steps_lane_), calls_[*steps_lane_]);
  }

  /// @return the idle time by kind of step. The first element also has the members that do not depend on steps: both flags, and an entry
  /// for each path with a scope on the step thread.
  [[nodiscard]] own_vector<gpu_idle> operator()(own_vector<idle_stretch> const& stretches) && {
    own_vector<part> parts = parts_of(stretches);
    if (steps_timeline_) {
      for (std::uint32_t const scope : steps_timeline_->scopes()) entry_of(0, profile_.scopes[scope].path);
      steps_timeline_->cut(
          parts, [](part const& each) -> interval const& { return each.time; },
          [&](std::size_t position, interval const& time, thread_state const& state) { charge(parts[position], time, state); });
    } else {
      for (part const& each : parts) charge(each, each.time, {});
    }
    for (std::size_t kind = 0; kind < result_.size(); ++kind) fold(kind);
    return std::move(result_);
  }

 private:
  struct part {
    interval time;
    bool is_queued;
    std::uint32_t kind;                ///< position in `result_`
    thread_state on_launching_thread;  ///< if the launching thread is not the step thread
  };

  gpu_idle::times& entry_of(std::size_t kind, std::uint32_t path) {
    std::optional<gpu_idle::times>& times = result_[kind].of_path[path];
    return times ? *times : times.emplace();
  }

  /// @return nothing if the launch was on the step thread.
  [[nodiscard]] std::optional<std::uint32_t> other_lane(std::uint32_t launch) const {
    if (launch == attribution::none) return std::nullopt;
    std::uint32_t const lane = launched_.lanes.lane_of(profile_.api_calls[launch].thread);
    return lane == steps_lane_ ? std::nullopt : std::optional{lane};
  }

  /// Cuts the stretches where the state of the launching threads changes. In time order.
  [[nodiscard]] own_vector<part> parts_of(own_vector<idle_stretch> const& stretches) {
    own_vector<part> parts;
    parts.reserve(stretches.size());
    own_vector<own_vector<std::uint32_t>> by_lane(launched_.lanes.count());
    for (std::uint32_t i = 0; i < stretches.size(); ++i) {
      std::uint32_t const kind = kinds_(stretches[i].step);
      result_[kind].total += stretches[i].time.duration();
      if (auto const lane = other_lane(stretches[i].next_launch)) {
        by_lane[*lane].push_back(i);
      } else {
        parts.push_back({stretches[i].time, stretches[i].is_queued, kind, {}});
      }
    }
    own_vector<std::size_t> runs{0, parts.size()};  // borders of the parts of each thread, which are in time order
    for (std::size_t lane = 0; lane < by_lane.size(); ++lane) {
      own_vector<std::uint32_t> const& positions = by_lane[lane];
      if (positions.empty()) continue;
      auto const before = static_cast<std::ptrdiff_t>(parts.size());
      thread_timeline{profile_, launched_.lanes.scopes(lane), calls_[lane]}.cut(
          positions, [&](std::uint32_t each) -> interval const& { return stretches[each].time; },
          [&](std::size_t position, interval const& time, thread_state const& state) {
            idle_stretch const& from = stretches[positions[position]];
            parts.push_back({time, from.is_queued, kinds_(from.step), state});
          });
      std::reverse(parts.begin() + before, parts.end());
      runs.push_back(parts.size());
    }
    merge_runs(parts, std::move(runs));
    return parts;
  }

  /// Merges neighbouring runs until one remains. @param runs the borders of the runs.
  static void merge_runs(own_vector<part>& parts, own_vector<std::size_t> runs) {
    auto const at = [&](std::size_t position) { return parts.begin() + static_cast<std::ptrdiff_t>(position); };
    auto const begins_before = [](part const& a, part const& b) { return a.time.begin < b.time.begin; };
    own_vector<part> buffer;
    while (runs.size() > 2) {
      own_vector<std::size_t> merged{0};
      for (std::size_t i = 1; i + 1 < runs.size(); i += 2) {
        own_inplace_merge(at(runs[i - 1]), at(runs[i]), at(runs[i + 1]), begins_before, buffer);
        merged.push_back(runs[i + 1]);
      }
      if (merged.back() != runs.back()) merged.push_back(runs.back());
      runs = std::move(merged);
    }
  }

  [[nodiscard]] bool lies_in(std::uint32_t path, std::uint32_t in) const {
    while (path != path_record::no_parent && path != in) path = profile_.paths[path].parent;
    return path == in;
  }

  [[nodiscard]] idle_cause cause_of(part const& idle, thread_state const& on_steps_thread) const {
    thread_state const& other = idle.on_launching_thread;
    if (idle.is_queued) return idle_cause::queued;
    if (other.call) return *other.call;
    if (other.is_launching) return idle_cause::launching;
    if (other.scope != attribution::none) return idle_cause::host;
    if (on_steps_thread.call) return *on_steps_thread.call;
    return on_steps_thread.is_launching ? idle_cause::launching : idle_cause::host;
  }

  void charge(part const& idle, interval const& time, thread_state const& on_steps_thread) {
    idle_cause const why = cause_of(idle, on_steps_thread);
    auto const cause = static_cast<std::size_t>(why);
    std::uint32_t scope = on_steps_thread.scope;
    if (scope == attribution::none) {
      if (parts_ != nullptr) parts_->push_back({time, why, attribution::none});
      result_[idle.kind].unattributed += time.duration();
      result_[idle.kind].unattributed_by_cause[cause] += time.duration();
      return;
    }
    std::uint32_t const other = idle.on_launching_thread.scope;
    if (other != attribution::none && lies_in(profile_.scopes[other].path, profile_.scopes[scope].path)) scope = other;
    if (parts_ != nullptr) parts_->push_back({time, why, profile_.scopes[scope].path});
    gpu_idle::times& times = entry_of(idle.kind, profile_.scopes[scope].path);
    times.self += time.duration();
    times.self_by_cause[cause] += time.duration();
  }

  void fold(std::size_t kind) {
    own_vector<std::optional<gpu_idle::times>>& of_path = result_[kind].of_path;
    for (auto path = static_cast<std::uint32_t>(profile_.paths.size()); path-- > 0;) {
      if (!of_path[path]) continue;
      of_path[path]->inclusive += of_path[path]->self;
      if (profile_.paths[path].parent == path_record::no_parent) continue;
      entry_of(kind, profile_.paths[path].parent).inclusive += of_path[path]->inclusive;
    }
  }

  profile const& profile_;
  attribution const& launched_;
  std::optional<std::uint32_t> steps_lane_;
  own_vector<thread_calls> const& calls_;  ///< by lane
  kind_positions const& kinds_;
  own_vector<charged_idle>* parts_;
  std::optional<thread_timeline> steps_timeline_;
  own_vector<gpu_idle> result_;  ///< by kind
};

/// Computes the GPU idle time by kind of step. Takes time proportional to the records (n log n if scopes are out of order or several
/// threads launch).
/// @param calls result of `calls_by_lane`.
/// @param steps_thread result of `thread_of_steps`.
/// @param wall the wall time to examine: the host steps, or the GPU periods.
inline own_vector<gpu_idle> find_gpu_idle(profile const& profile, attribution const& launched, own_vector<thread_calls> const& calls,
                                          std::optional<std::uint32_t> steps_thread, counted_operations const& operations,
                                          measured_time const& wall, kind_positions const& kinds) {
  return idle_charging{profile, launched, calls, steps_thread, kinds}(find_idle_stretches(profile, launched, wall, operations));
}

}  // namespace PROFKIT_NAMESPACE::detail
