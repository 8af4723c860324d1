// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../gpu/counted_operations.hpp"
#include "../merge/add_rows.hpp"
#include "../time/measured_time.hpp"
#include "../time/step_rows.hpp"
#include "kind_table.hpp"
#include "step_kinds.hpp"

namespace profkit::detail {

/// Adds the scopes and kernels of the steps of a window to the figures of their kinds.
class kind_recorder {
 public:
  /// @param when the measured time.
  /// @param with_kernels the part of it in which kernels were collected; null if they were not collected.
  /// @param to contains the kinds of the window.
  /// @param paths number of paths of the window.
  kind_recorder(step_kinds const& found, measured_time const& when, measured_time const* with_kernels, kind_table& to, std::size_t paths) {
    for (occurring_kind const& each : found.all()) grow_rows(to[each.key].scopes, paths);
    steps_.reserve(when.steps().size());
    for (std::size_t step = 0; step < when.steps().size(); ++step) steps_.push_back(&to[found.of_step(step)]);
    if (with_kernels == nullptr) return;
    for (interval const& step : with_kernels->steps()) {
      gpu_steps_.push_back(&to[found.of_step_at(step.begin)]);
      ++gpu_steps_.back()->gpu_steps;
    }
  }

  /// @param step position in the measured time.
  /// @param scopes host times of the current step, by path.
  void add_scopes(std::size_t step, step_rows const& scopes) {
    own_vector<kind_figures::scopes_of_path>& to = steps_[step]->scopes;
    scopes.for_each_in_step([&](std::size_t path, std::uint64_t count, std::chrono::nanoseconds time) { to[path].add({count, time}); });
  }

  /// @param kernel a kernel that counts in a step with kernels collected.
  void add_kernel(timed_operation const& kernel) { gpu_steps_[kernel.step]->kernels.add(kernel.name, kernel.path, kernel.time.duration()); }

 private:
  own_vector<kind_figures*> steps_;      ///< by step
  own_vector<kind_figures*> gpu_steps_;  ///< by step with kernels collected
};

}  // namespace profkit::detail
