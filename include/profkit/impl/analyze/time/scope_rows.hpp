// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/gpu_idle.hpp"
#include "../gpu/gpu_sums.hpp"
#include "../windows/state.hpp"
#include "durations.hpp"
#include "measured_time.hpp"
#include "path_tree.hpp"
#include "time_per_step.hpp"

namespace profkit::detail {

/// Host times and times between CUDA events of the scopes in the measured time, by path.
class scope_times {
 public:
  void add(profile const& profile, measured_time const& when) {
    grow_rows(host_, profile.paths.size());
    grow_rows(gpu_events_, profile.paths.size());
    if (first_.size() < profile.paths.size()) first_.resize(profile.paths.size(), timestamp::max());
    measured_time_cursor in{when};
    for (scope_record const& scope : profile.scopes) {
      if (!in.contains(when.moment_of(scope))) continue;
      host_[scope.path].add(scope.time.duration());
      first_[scope.path] = std::min(first_[scope.path], scope.time.begin);
    }
    for (gpu_scope_record const& scope : profile.gpu_scopes) {
      if (in.contains(scope.begin)) gpu_events_[scope.path].add(scope.duration);
    }
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
  scope_rows(path_tree const& tree, scope_times const& times, time_per_step const& steps, gpu_sums const* gpu, gpu_idle const* idle)
      : tree_{tree}, times_{times}, steps_{steps}, gpu_{gpu}, idle_{idle} {}

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
        parent.host_self -= row.host.total;
        if (parent.host.total.count() > 0.0) row.share_of_parent = row.host.total / parent.host.total;
      }
      rows.push_back(std::move(row));
    }
    constexpr milliseconds rounding{1e-6};  // rounding error of floating-point sums
    for (scope_summary& row : rows) {
      if (row.host_self < milliseconds{} && row.host_self > -rounding) row.host_self = milliseconds{};
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
    row.host_self = row.host.total;
    if (times_.gpu_events(path).count() > 0) row.gpu_events = times_.gpu_events(path).summarize();
    if (gpu_ != nullptr) row.gpu = gpu_->of_path(path);
    if (idle_ != nullptr) row.gpu_idle = gpu_idle::summary_of(idle_->of_path[path]);
    row.per_step = steps_.of_path(path);
    return row;
  }

  path_tree const& tree_;
  scope_times const& times_;
  time_per_step const& steps_;
  gpu_sums const* gpu_;
  gpu_idle const* idle_;
};

}  // namespace profkit::detail
