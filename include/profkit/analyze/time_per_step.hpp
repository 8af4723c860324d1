// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"
#include "durations.hpp"
#include "measured_time.hpp"
#include "step_series.hpp"
#include "summary.hpp"

namespace profkit::detail {

/// A record, and the measured step that it counts in.
struct record_of_step {
  std::uint32_t step;
  std::uint32_t record;
};

/// In the order of the steps; records of a step keep theirs.
inline void sort_by_step(std::vector<record_of_step>& records, std::size_t steps) {
  auto const is_before = [](record_of_step const& a, record_of_step const& b) { return a.step < b.step; };
  if (std::is_sorted(records.begin(), records.end(), is_before)) return;
  std::vector<std::size_t> ends(steps + 1);
  for (record_of_step const& each : records) ++ends[each.step + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  std::vector<record_of_step> sorted(records.size());
  for (record_of_step const& each : records) sorted[ends[each.step]++] = each;
  records = std::move(sorted);
}

/// Adds up what many rows took, a step at a time: takes time for the rows that occur in a step, not for all.
class step_sums {
 public:
  explicit step_sums(std::size_t rows) : sums_(rows), is_touched_(rows), series_(rows) {}

  void add(std::size_t row, milliseconds time) {
    touch(row);
    sums_[row] += time;
  }

  /// Adds what each path has in this step to all paths around it. The rows are paths.
  void fold(std::vector<path_record> const& paths) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {  // grows meanwhile
      std::uint32_t const parent = paths[touched_[i]].parent;
      if (parent != path_record::no_parent) touch(parent);
    }
    std::sort(touched_.begin(), touched_.end(), std::greater<>{});  // children stand after their parents
    for (std::size_t const path : touched_) {
      std::uint32_t const parent = paths[path].parent;
      if (parent != path_record::no_parent) sums_[parent] += sums_[path];
    }
  }

  void end_step(std::size_t step) {
    for (std::size_t const row : touched_) {
      series_[row].add(step, sums_[row]);
      sums_[row] = {};
      is_touched_[row] = false;
    }
    touched_.clear();
  }

  [[nodiscard]] per_step_figures summarize(std::size_t row, std::size_t steps) const {
    step_series copy = series_[row];
    return copy.summarize(steps);
  }

 private:
  void touch(std::size_t row) {
    if (is_touched_[row]) return;
    is_touched_[row] = true;
    touched_.push_back(row);
  }

  std::vector<milliseconds> sums_;  ///< of this step
  std::vector<bool> is_touched_;
  std::vector<std::size_t> touched_;  ///< rows that occur in this step
  std::vector<step_series> series_;
};

/// What each scope and each kernel took in each measured step. Takes time in proportion to the records and the depth of the paths.
class time_per_step {
 public:
  /// @param launched, counted null where kernels were not collected.
  time_per_step(profile const& of, measured_time const& when, attribution const* launched, counted_operations const* counted)
      : steps_{when.steps().size()},
        has_kernels_{launched != nullptr},
        host_{of.paths.size()},
        gpu_{of.paths.size()},
        host_copies_{of.paths.size()},
        kernels_{of.gpu_names.size()} {
    if (steps_ == 0) return;
    add_scopes(of, when);
    if (has_kernels_) add_operations(of, when, *launched, *counted);
  }

  /// n/a without a measured step.
  [[nodiscard]] std::optional<scope_per_step> of_path(std::size_t path) const {
    if (steps_ == 0) return std::nullopt;
    scope_per_step result{steps_, host_.summarize(path, steps_), std::nullopt, std::nullopt};
    if (has_kernels_) {
      result.gpu = gpu_.summarize(path, steps_);
      result.host_copies = host_copies_.summarize(path, steps_).mean;
    }
    return result;
  }

  /// n/a without a measured step.
  /// @param name position in `profile::gpu_names`.
  [[nodiscard]] std::optional<kernel_per_step> of_kernel(std::size_t name) const {
    if (steps_ == 0) return std::nullopt;
    return kernel_per_step{steps_, kernels_.summarize(name, steps_)};
  }

 private:
  void add_scopes(profile const& of, measured_time const& when) {
    std::vector<record_of_step> scopes;
    scopes.reserve(of.scopes.size());
    measured_time_cursor in{when};
    for (std::uint32_t i = 0; i < of.scopes.size(); ++i) {
      std::optional<std::size_t> const step = in.step_of(of.scopes[i].time.begin);
      if (step) scopes.push_back({static_cast<std::uint32_t>(*step), i});
    }
    for_each_step(
        scopes, [&](std::uint32_t scope) { host_.add(of.scopes[scope].path, to_ms(of.scopes[scope].time.duration())); },
        [&](std::size_t step) { host_.end_step(step); });
  }

  void add_operations(profile const& of, measured_time const& when, attribution const& launched, counted_operations const& counted) {
    std::vector<record_of_step> operations;
    operations.reserve(counted.order().size());
    measured_time_cursor in{when};
    for (std::uint32_t const each : counted.order()) {
      operations.push_back({static_cast<std::uint32_t>(in.step_of(launch_moment(of, launched, each)).value_or(0)), each});
    }
    std::vector<bool> is_host_copy;  // by name
    for (gpu_name_record const& each : of.gpu_names) is_host_copy.push_back(each.name.find("Host") != std::string::npos);
    auto const add = [&](std::uint32_t which) {
      gpu_operation_record const& operation = of.gpu_operations[which];
      milliseconds const time = to_ms(operation.time.duration());
      if (operation.kind == gpu_operation_kind::kernel) kernels_.add(operation.name, time);
      std::uint32_t const path = launched.path_of[which];
      if (path == attribution::none) return;
      gpu_.add(path, time);
      if (operation.kind == gpu_operation_kind::copy && is_host_copy[operation.name]) host_copies_.add(path, time);
    };
    for_each_step(operations, add, [&](std::size_t step) {
      for (step_sums* const each : {&gpu_, &host_copies_}) {
        each->fold(of.paths);
        each->end_step(step);
      }
      kernels_.end_step(step);
    });
  }

  template <class Add, class EndStep>
  void for_each_step(std::vector<record_of_step>& records, Add add, EndStep end_step) const {
    sort_by_step(records, steps_);
    for (std::size_t i = 0; i < records.size(); ++i) {
      add(records[i].record);
      if (i + 1 == records.size() || records[i + 1].step != records[i].step) end_step(records[i].step);
    }
  }

  std::size_t steps_;
  bool has_kernels_;
  step_sums host_;  ///< by path
  step_sums gpu_;   ///< by path, with what is inside
  step_sums host_copies_;
  step_sums kernels_;  ///< by name
};

}  // namespace profkit::detail
