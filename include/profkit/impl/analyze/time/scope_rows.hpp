// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../gpu/gpu_sums.hpp"
#include "../kinds/kind_table.hpp"
#include "../kinds/step_kinds.hpp"
#include "../windows/state.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"
#include "quantiles.hpp"
#include "time_per_step.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Self times of scopes: without the time in the scopes directly inside them, whether these count or not. So no self time is negative, even
/// if a scope and the scopes inside it begin in different steps.
class self_times {
 public:
  /// Adds a window.
  /// @param own the stretch that the window owns.
  /// @param when the measured time of the window.
  /// @param lanes the threads of the profile.
  /// @param found the kinds of the steps.
  /// @param kinds receives the self times of the scopes of each step.
  void add(profile const& profile, interval const& own, measured_time const& when, thread_lanes const& lanes, step_kinds const& found,
           kind_table& kinds) {
    grow_rows(of_path_, profile.paths.size());
    own_vector<kind_figures::scopes_of_path*> rows_of;  // by step
    for (std::size_t step = 0; step < when.steps().size(); ++step) {
      auto& rows = kinds[found.of_step(step)].scopes;
      grow_rows(rows, profile.paths.size());
      rows_of.push_back(rows.data());
    }
    own_vector<std::uint32_t> const parents = parents_of(profile.paths);
    measured_time_cursor in{when};
    for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
      ended_scopes ended;  // the last ones can lie in the next scope
      grouped_positions::range const scopes = lanes.scopes(lane);
      if (scopes.size() == 0) continue;
      std::uint64_t const thread = profile.threads[profile.scopes[scopes[0]].thread].system_id;
      for (std::uint32_t const i : scopes) {
        scope_record const& scope = profile.scopes[i];
        if (scope.time.end == timestamp::max()) break;  // open
        timestamp const moment = when.moment_of(scope);
        place const at = moment < own.begin ? place::before : moment < own.end ? place::own : place::after;
        inner_time inside = ended.take(scope);
        if (!open_.empty() || (at == place::after && inside.own.count() > 0)) take_earlier({thread, scope.path}, at, ended, inside);
        if (std::uint32_t const step = in.step_of(moment); step != no_step) {
          std::chrono::nanoseconds const self = scope.time.duration() - std::min(inside.all, scope.time.duration());
          of_path_[scope.path].time += self;
          if (!rows_of.empty()) rows_of[step][scope.path].self += self;
        }
        std::uint32_t const parent = parents[scope.path];
        if (at == place::before || parent == path_record::no_parent) continue;
        ended.add(scope.time, parent, at == place::own, profile.paths[scope.path].adopted_from != path_record::no_parent);
      }
      for (ended_scope const& each : ended.all()) {
        if (each.is_own) open_[{thread, each.parent}].time += each.time;
      }
    }
  }

  /// @return the sum over the scopes in the measured time.
  [[nodiscard]] std::chrono::nanoseconds of_path(std::size_t path) const { return of_path_[path].time; }

  /// Whether there is one entry per path.
  [[nodiscard]] bool has_paths(std::size_t count) const noexcept { return of_path_.size() == count; }

  auto members() { return listed(of_path_, open_); }

 private:
  enum class place : std::uint8_t { before, own, after };  ///< relative to the stretch of the window

  using thread_and_path = std::tuple<std::uint64_t, std::uint32_t>;

  struct inner_time {
    std::chrono::nanoseconds all{};
    std::chrono::nanoseconds own{};  ///< of scopes of the window
  };

  /// A scope, or several one after another in the same scope.
  struct ended_scope {
    timestamp begin;
    std::chrono::nanoseconds time;
    std::uint32_t parent;  ///< path
    bool is_own;
    bool adopts;  ///< the scope around it may be on another thread
  };

  /// The ended scopes of a thread whose parents have not ended. Elements are written in place, like those of `open_ranges`.
  class ended_scopes {
   public:
    void add(interval const& time, std::uint32_t parent, bool is_own, bool adopts) {
      if (count_ > 0 && !adopts) {
        // No other scope begins between two scopes of one parent and contains only the second, if the parent is on this thread.
        ended_scope& last = list_[count_ - 1];
        if (last.parent == parent && last.is_own == is_own && !last.adopts && last.begin <= time.begin) {
          last.time += time.duration();
          return;
        }
      }
      if (count_ == list_.size()) list_.resize(2 * count_ + 16);
      ended_scope& next = list_[count_++];
      next.begin = time.begin;
      next.time = time.duration();
      next.parent = parent;
      next.is_own = is_own;
      next.adopts = adopts;
    }

    /// Removes the scopes inside a scope. @return the time of those directly inside.
    inner_time take(scope_record const& scope) {
      inner_time result;
      for (; count_ > 0 && scope.time.begin <= list_[count_ - 1].begin; --count_) add_if_in(scope.path, list_[count_ - 1], result);
      return result;
    }

    /// Removes all scopes directly inside scopes of a path.
    void take_all_in(std::uint32_t path, inner_time& to) {
      list_.resize(count_);
      for (ended_scope const& each : list_) add_if_in(path, each, to);
      list_.erase(std::remove_if(list_.begin(), list_.end(), [&](ended_scope const& each) { return each.parent == path; }), list_.end());
      count_ = list_.size();
    }

    [[nodiscard]] own_vector<ended_scope> const& all() {
      list_.resize(count_);
      return list_;
    }

   private:
    static void add_if_in(std::uint32_t path, ended_scope const& each, inner_time& to) {
      if (each.parent != path) return;
      to.all += each.time;
      if (each.is_own) to.own += each.time;
    }

    own_vector<ended_scope> list_;  ///< elements beyond `count_` are reused
    std::size_t count_ = 0;
  };

  /// Joins a scope with the figures of its parts in earlier windows.
  __attribute__((noinline)) void take_earlier(thread_and_path const& key, place at, ended_scopes& ended, inner_time& inside) {
    auto const earlier = open_.find(key);
    if (at == place::after) {
      if (inside.own.count() > 0) open_[key].time += inside.own;
    } else if (earlier != open_.end()) {
      if (at == place::own) {  // the stream moved the scope to this window, because it had not waited for its end
        inside.all += earlier->second.time;
        ended.take_all_in(std::get<1>(key), inside);
      }
      open_.erase(earlier);
    }
  }

  struct sum {
    std::chrono::nanoseconds time{};

    auto members() { return listed(summed(time)); }
  };

  own_vector<sum> of_path_;

  /// The time so far in scopes that have not ended, by system thread number and path. A thread has at most one open scope of a path.
  std::map<thread_and_path, sum> open_;
};

/// Host times and times between CUDA events of the scopes in the measured time, by path.
class scope_times {
 public:
  /// @return whether the scopes are in the order of the steps.
  bool add(profile const& profile, measured_time const& when) {
    grow_rows(host_, profile.paths.size());
    grow_rows(gpu_events_, profile.paths.size());
    if (first_.size() < profile.paths.size()) first_.resize(profile.paths.size(), timestamp::max());
    measured_time_cursor in{when};
    bool is_in_order = true;
    std::uint32_t last = 0;
    for (scope_record const& scope : profile.scopes) {
      std::uint32_t const step = in.step_of(when.moment_of(scope));
      if (step == no_step) continue;
      is_in_order = is_in_order && last <= step;
      last = step;
      host_[scope.path].add(scope.time.duration());
      first_[scope.path] = std::min(first_[scope.path], scope.time.begin);
    }
    for (gpu_scope_record const& scope : profile.gpu_scopes) {
      if (in.contains(scope.begin)) gpu_events_[scope.path].add(scope.duration);
    }
    return is_in_order;
  }

  /// Whether there is one entry per path.
  [[nodiscard]] bool has_paths(std::size_t count) const noexcept {
    return host_.size() == count && gpu_events_.size() == count && first_.size() == count;
  }

  [[nodiscard]] duration_statistics const& host(std::size_t path) const { return host_[path]; }
  [[nodiscard]] duration_statistics const& gpu_events(std::size_t path) const { return gpu_events_[path]; }

  /// @return the beginning of the first scope; `timestamp::max()` if there is none.
  [[nodiscard]] timestamp first(std::size_t path) const { return first_[path]; }

  auto members() { return listed(host_, gpu_events_, first_); }

 private:
  own_vector<duration_statistics> host_;  ///< by path
  own_vector<duration_statistics> gpu_events_;
  own_vector<timestamp> first_;  ///< beginning of the first scope
};

/// Builds the rows of the tree and the rows by name.
class scope_rows {
 public:
  /// @param tree has rows.
  /// @param gpu null if kernels were not collected.
  /// @param idle null if kernels were not collected, and without steps.
  scope_rows(path_tree const& tree, scope_times const& times, self_times const& self, time_per_step const& steps, gpu_sums const* gpu,
             gpu_idle const* idle)
      : tree_{tree}, times_{times}, self_{self}, steps_{steps}, gpu_{gpu}, idle_{idle} {}

  /// @return the rows; parents precede children. A parent without a scope in the measured time, such as a scope open around all steps, has
  ///   count 0.
  [[nodiscard]] own_vector<scope_summary> by_path(milliseconds steps_total) const {
    own_vector<scope_summary> rows;
    for (std::uint32_t const path : tree_.rows()) {
      scope_summary row = row_of(path);
      if (steps_total.count() > 0.0 && row.host.count > 0) row.share_of_steps = row.host.total / steps_total;
      if (tree_.has_parent(path)) {
        row.parent = tree_.row_of(tree_.paths()[path].parent);
        scope_summary& parent = rows[*row.parent];
        row.path = parent.path + "/" + row.name;
        row.depth = parent.depth + 1;
        // A scope can lie in one that does not count, because that began in another step.
        if (parent.host.total.count() > 0.0 && row.host.total <= parent.host.total)
          row.share_of_parent = row.host.total / parent.host.total;
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

  [[nodiscard]] own_vector<scope_name_summary> by_name() const {
    own_vector<scope_name_summary> rows;
    for (path_tree::name_group const& group : tree_.names()) {
      std::uint64_t count = 0;
      for (std::uint32_t const path : group.paths) count += times_.host(path).count();
      duration_statistics host;
      for (std::uint32_t const path : group.outermost) host.add(times_.host(path));
      rows.push_back({group.name, host.summarize(), {}, {}});
      rows.back().host.count = count;
      if (gpu_ != nullptr) rows.back().gpu = gpu_->of_name(group);
      if (idle_ != nullptr) rows.back().gpu_idle = idle_->of_name(group);
    }
    return rows;
  }

 private:
  [[nodiscard]] scope_summary row_of(std::uint32_t path) const {
    path_record const& record = tree_.paths()[path];
    scope_summary row;
    row.name = shown_name(record);
    row.index = record.index;
    row.path = row.name;
    row.source = record.file + ":" + std::to_string(record.line);
    row.host = times_.host(path).summarize();
    row.host_self = to_ms(self_.of_path(path));
    if (times_.gpu_events(path).count() > 0) row.gpu_events = times_.gpu_events(path).summarize();
    if (gpu_ != nullptr) row.gpu = gpu_->of_path(path);
    if (idle_ != nullptr) row.gpu_idle = gpu_idle::summary_of(idle_->of_path[path]);
    row.per_step = steps_.of_path(path);
    return row;
  }

  path_tree const& tree_;
  scope_times const& times_;
  self_times const& self_;
  time_per_step const& steps_;
  gpu_sums const* gpu_;
  gpu_idle const* idle_;
};

}  // namespace PROFKIT_NAMESPACE::detail
