// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../kinds/kind_table.hpp"
#include "measured_time.hpp"
#include "step_rows.hpp"

namespace profkit::detail {

/// Visits records step by step, in order within a step.
/// @param step_of the position of the measured step in which a record counts; `steps` if in none.
/// @param add called with the position of a record.
/// @param end_step called with the position of a step after all its records.
template <class StepOf, class Add, class EndStep>
void for_each_by_step(std::uint32_t records, std::size_t steps, StepOf const& step_of, Add const& add, EndStep const& end_step) {
  std::size_t last = 0;
  bool is_in_order = true;
  for (std::uint32_t i = 0; i < records && is_in_order; ++i) {
    std::size_t const step = step_of(i);
    if (step == steps) continue;
    is_in_order = last <= step;
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
  own_vector<std::uint32_t> ends(steps + 2);  // by step: end of its records
  for (std::uint32_t i = 0; i < records; ++i) ++ends[step_of(i) + 1];
  for (std::size_t step = 1; step < ends.size(); ++step) ends[step] += ends[step - 1];
  own_vector<std::uint32_t> sorted(records);
  for (std::uint32_t i = 0; i < records; ++i) sorted[ends[step_of(i)]++] = i;
  std::uint32_t begin = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    if (begin == ends[step]) continue;
    for (; begin < ends[step]; ++begin) add(sorted[begin]);
    end_step(step);
  }
}

/// Times of scopes and kernels per measured step. Takes time proportional to the records and the depth of the paths.
class time_per_step {
 public:
  time_per_step() = default;

  /// @param with_kernels the part of the measured time with kernels collected.
  /// @param counted null if kernels were not collected.
  /// @param kinds receives the scopes and kernels of each step.
  time_per_step(profile const& profile, measured_time const& when, measured_time const& with_kernels, counted_operations const* counted,
                kind_recorder& kinds)
      : steps_{when.steps().size()},
        gpu_steps_{counted != nullptr ? with_kernels.steps().size() : 0},
        host_{profile.paths.size()},
        gpu_{profile.paths.size()},
        host_copies_{profile.paths.size()},
        kernels_{profile.gpu_names.size()} {
    if (steps_ == 0) return;
    add_scopes(profile, when, kinds);
    host_.finish(steps_);
    if (gpu_steps_ == 0) return;
    add_operations(profile, *counted, kinds);
    for (step_rows* const each : {&gpu_, &host_copies_, &kernels_}) each->finish(gpu_steps_);
  }

  /// Appends the following steps: the result is as if they had been added here.
  void append(time_per_step const& next) {
    steps_ += next.steps_;
    gpu_steps_ += next.gpu_steps_;
    host_.append(next.host_);
    gpu_.append(next.gpu_);
    host_copies_.append(next.host_copies_);
    kernels_.append(next.kernels_);
  }

  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }

  /// Whether all rows are below these numbers.
  [[nodiscard]] bool is_in(std::size_t paths, std::size_t names) const noexcept {
    return host_.rows() <= paths && gpu_.rows() <= paths && host_copies_.rows() <= paths && kernels_.rows() <= names;
  }

  /// @return n/a without a measured step.
  [[nodiscard]] std::optional<scope_per_step> of_path(std::size_t path) const {
    if (steps_ == 0) return std::nullopt;
    scope_per_step result{steps_, host_.summarize(path), std::nullopt, std::nullopt, gpu_steps_};
    if (gpu_steps_ > 0) {
      result.gpu = gpu_.summarize(path);
      result.host_copies = host_copies_.summarize(path).mean;
    }
    return result;
  }

  /// @return n/a without a measured step with kernels collected.
  /// @param name position in `profile::gpu_names`.
  [[nodiscard]] std::optional<kernel_per_step> of_kernel(std::size_t name) const {
    if (gpu_steps_ == 0) return std::nullopt;
    return kernel_per_step{gpu_steps_, kernels_.summarize(name)};
  }

 private:
  template <class Archive>
  friend void fields(Archive& archive, time_per_step& value) {
    archive.amount(value.steps_), archive.amount(value.gpu_steps_);
    archive(value.host_), archive(value.gpu_), archive(value.host_copies_), archive(value.kernels_);
    if constexpr (Archive::is_reader) {
      bool const is_right = value.host_.steps() == value.steps_ && value.gpu_.steps() == value.gpu_steps_ &&
                            value.host_copies_.steps() == value.gpu_steps_ && value.kernels_.steps() == value.gpu_steps_;
      archive.check(is_right, "rows have different numbers of steps");
    }
  }

  void add_scopes(profile const& profile, measured_time const& when, kind_recorder& kinds) {
    measured_time_cursor in{when};
    for_each_by_step(
        static_cast<std::uint32_t>(profile.scopes.size()), steps_,
        [&](std::uint32_t scope) { return in.step_of(when.moment_of(profile.scopes[scope])).value_or(steps_); },
        [&](std::uint32_t scope) { host_.add(profile.scopes[scope].path, profile.scopes[scope].time.duration()); },
        [&](std::size_t step) {
          kinds.add_scopes(step, host_);
          host_.end_step(step);
        });
  }

  void add_operations(profile const& profile, counted_operations const& counted, kind_recorder& kinds) {
    own_vector<bool> touches_host;  // by name: whether it copies from or to the host
    for (gpu_name_record const& each : profile.gpu_names) touches_host.push_back(is_host_copy(each.direction));
    own_vector<std::uint32_t> parents;
    parents.reserve(profile.paths.size());
    for (path_record const& path : profile.paths) parents.push_back(path.parent);
    own_vector<timed_operation> const& operations = counted.all();
    auto const step_of = [&](std::uint32_t each) { return operations[each].is_counted() ? operations[each].step : gpu_steps_; };
    auto const add = [&](std::uint32_t which) {
      timed_operation const& operation = operations[which];
      std::chrono::nanoseconds const time = operation.time.duration();
      if (operation.kind == gpu_operation_kind::kernel) {
        kernels_.add(operation.name, time);
        kinds.add_kernel(operation);
      }
      if (operation.path == attribution::none) return;
      gpu_.add(operation.path, time);
      if (operation.kind == gpu_operation_kind::copy && touches_host[operation.name]) host_copies_.add(operation.path, time);
    };
    for_each_by_step(static_cast<std::uint32_t>(operations.size()), gpu_steps_, step_of, add, [&](std::size_t step) {
      for (step_rows* const each : {&gpu_, &host_copies_}) {
        each->fold(parents);
        each->end_step(step);
      }
      kernels_.end_step(step);
    });
  }

  std::size_t steps_ = 0;
  std::size_t gpu_steps_ = 0;  ///< number of steps with kernels collected
  step_rows host_;             ///< by path
  step_rows gpu_;              ///< by path, including the scopes inside
  step_rows host_copies_;
  step_rows kernels_;  ///< by name
};

}  // namespace profkit::detail
