// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../summary.hpp"
#include "durations.hpp"
#include "measured_time.hpp"
#include "step_series.hpp"

namespace profkit::detail {

/// Goes through records step by step; those of a step in their order.
/// @param step_of gives the position of the measured step that a record counts in, `steps` if it counts in none.
/// @param add takes the position of a record.
/// @param end_step takes the position of a step, once all its records were added.
template <class StepOf, class Add, class EndStep>
void for_each_by_step(std::uint32_t records, std::size_t steps, StepOf const& step_of, Add const& add, EndStep const& end_step) {
  std::vector<std::uint32_t> ends(steps + 2);  // of the records before those of a step
  std::size_t last = 0;
  bool is_in_order = true;
  for (std::uint32_t i = 0; i < records; ++i) {
    std::size_t const step = step_of(i);
    ++ends[step + 1];
    if (step == steps) continue;
    is_in_order = is_in_order && last <= step;
    last = step;
  }
  if (is_in_order) {
    bool has_records = false;
    last = 0;
    for (std::uint32_t i = 0; i < records; ++i) {
      std::size_t const step = step_of(i);
      if (step == steps) continue;
      if (has_records && step != last) end_step(last);
      has_records = true;
      last = step;
      add(i);
    }
    if (has_records) end_step(last);
    return;
  }
  for (std::size_t step = 1; step < ends.size(); ++step) ends[step] += ends[step - 1];
  std::vector<std::uint32_t> sorted(records);
  for (std::uint32_t i = 0; i < records; ++i) sorted[ends[step_of(i)]++] = i;
  std::uint32_t begin = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (begin == ends[step]) continue;
    for (; begin < ends[step]; ++begin) add(sorted[begin]);
    end_step(step);
  }
}

/// Adds up what many rows took, a step at a time: takes time for the rows that occur in a step, not for all.
class step_sums {
 public:
  explicit step_sums(std::size_t rows) : sums_(rows), series_(rows) {}

  void add(std::size_t row, milliseconds time) {
    touch(row);
    sums_[row].time += time;
  }

  /// Adds what each path has in this step to all paths around it. The rows are paths.
  /// @param parents by path; smaller than the path, or `path_record::no_parent`.
  void fold(std::vector<std::uint32_t> const& parents) {
    for (std::size_t i = 0; i < touched_.size(); ++i) {  // grows meanwhile
      std::uint32_t const parent = parents[touched_[i]];
      if (parent != path_record::no_parent) touch(parent);
    }
    auto const add_to_parent = [&](std::size_t path) {
      std::uint32_t const parent = parents[path];
      if (parent != path_record::no_parent) sums_[parent].time += sums_[path].time;
    };
    constexpr std::size_t worth_sorting = 16;  // to look at one path less than at all
    if (touched_.size() * worth_sorting > parents.size()) {
      for (std::size_t path = parents.size(); path-- > 0;) {  // children stand after their parents
        if (sums_[path].is_touched) add_to_parent(path);
      }
    } else {
      std::sort(touched_.begin(), touched_.end(), std::greater<>{});
      for (std::size_t const path : touched_) add_to_parent(path);
    }
  }

  void end_step(std::size_t step) {
    for (std::size_t const row : touched_) {
      series_[row].add(step, sums_[row].time);
      sums_[row] = {};
    }
    touched_.clear();
  }

  [[nodiscard]] per_step_figures summarize(std::size_t row, std::size_t steps) const {
    step_series copy = series_[row];
    return copy.summarize(steps);
  }

 private:
  struct sum {
    milliseconds time{};
    bool is_touched = false;
  };

  void touch(std::size_t row) {
    if (sums_[row].is_touched) return;
    sums_[row].is_touched = true;
    touched_.push_back(row);
  }

  std::vector<sum> sums_;             ///< of this step
  std::vector<std::size_t> touched_;  ///< rows that occur in this step
  std::vector<step_series> series_;
};

/// What each scope and each kernel took in each measured step. Takes time in proportion to the records and the depth of the paths.
class time_per_step {
 public:
  /// @param with_kernels of the measured time, that in which kernels were collected.
  /// @param counted null where kernels were not collected.
  time_per_step(profile const& of, measured_time const& when, measured_time const& with_kernels, counted_operations const* counted)
      : steps_{when.steps().size()},
        gpu_steps_{counted != nullptr ? with_kernels.steps().size() : 0},
        host_{of.paths.size()},
        gpu_{of.paths.size()},
        host_copies_{of.paths.size()},
        kernels_{of.gpu_names.size()} {
    if (steps_ == 0) return;
    add_scopes(of, when);
    if (gpu_steps_ > 0) add_operations(of, *counted);
  }

  /// n/a without a measured step.
  [[nodiscard]] std::optional<scope_per_step> of_path(std::size_t path) const {
    if (steps_ == 0) return std::nullopt;
    scope_per_step result{steps_, host_.summarize(path, steps_), std::nullopt, std::nullopt, gpu_steps_};
    if (gpu_steps_ > 0) {
      result.gpu = gpu_.summarize(path, gpu_steps_);
      result.host_copies = host_copies_.summarize(path, gpu_steps_).mean;
    }
    return result;
  }

  /// n/a without a measured step in which kernels were collected.
  /// @param name position in `profile::gpu_names`.
  [[nodiscard]] std::optional<kernel_per_step> of_kernel(std::size_t name) const {
    if (gpu_steps_ == 0) return std::nullopt;
    return kernel_per_step{gpu_steps_, kernels_.summarize(name, gpu_steps_)};
  }

 private:
  void add_scopes(profile const& of, measured_time const& when) {
    measured_time_cursor in{when};
    for_each_by_step(
        static_cast<std::uint32_t>(of.scopes.size()), steps_,
        [&](std::uint32_t scope) { return in.step_of(of.scopes[scope].time.begin).value_or(steps_); },
        [&](std::uint32_t scope) { host_.add(of.scopes[scope].path, to_ms(of.scopes[scope].time.duration())); },
        [&](std::size_t step) { host_.end_step(step); });
  }

  void add_operations(profile const& of, counted_operations const& counted) {
    std::vector<bool> touches_host;  // by name
    for (gpu_name_record const& each : of.gpu_names) touches_host.push_back(is_host_copy(each.direction));
    std::vector<std::uint32_t> parents;
    parents.reserve(of.paths.size());
    for (path_record const& path : of.paths) parents.push_back(path.parent);
    std::vector<timed_operation> const& operations = counted.all();
    auto const step_of = [&](std::uint32_t each) { return operations[each].is_counted() ? operations[each].step : gpu_steps_; };
    auto const add = [&](std::uint32_t which) {
      timed_operation const& operation = operations[which];
      milliseconds const time = to_ms(operation.time.duration());
      if (operation.kind == gpu_operation_kind::kernel) kernels_.add(operation.name, time);
      if (operation.path == attribution::none) return;
      gpu_.add(operation.path, time);
      if (operation.kind == gpu_operation_kind::copy && touches_host[operation.name]) host_copies_.add(operation.path, time);
    };
    for_each_by_step(static_cast<std::uint32_t>(operations.size()), gpu_steps_, step_of, add, [&](std::size_t step) {
      for (step_sums* const each : {&gpu_, &host_copies_}) {
        each->fold(parents);
        each->end_step(step);
      }
      kernels_.end_step(step);
    });
  }

  std::size_t steps_;
  std::size_t gpu_steps_;  ///< in which kernels were collected; 0 where they were not at all
  step_sums host_;         ///< by path
  step_sums gpu_;          ///< by path, with what is inside
  step_sums host_copies_;
  step_sums kernels_;  ///< by name
};

}  // namespace profkit::detail
