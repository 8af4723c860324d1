// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "../../../kernel_class.hpp"
#include "../../../profile.hpp"
#include "../../profile/own_memory.hpp"
#include "../kinds/kind_positions.hpp"
#include "../merge/add_rows.hpp"
#include "../time/measured_time.hpp"
#include "../time/thread_timeline.hpp"
#include "attribution.hpp"
#include "busy_sums.hpp"
#include "counted_operations.hpp"
#include "gpu_idle.hpp"

namespace profkit::detail {

/// The inputs that both budgets of a window share.
struct budget_basis {
  /// @param thread result of `thread_of_steps`.
  budget_basis(profile const& whole, attribution const& found, std::optional<std::uint32_t> thread, counted_operations const& counted,
               kernel_class_rules const& classes)
      : records{whole}, launched{found}, steps_thread{thread}, operations{counted}, calls{calls_by_lane(whole, found)} {
    kernel_classifier const classifier{classes};
    for (gpu_name_record const& each : whole.gpu_names) communicates.push_back(classifier.is_communication(each.name));
  }

  profile const& records;
  attribution const& launched;
  std::optional<std::uint32_t> steps_thread;
  counted_operations const& operations;
  own_vector<thread_calls> calls;  ///< by lane
  own_vector<bool> communicates;   ///< by name of operations: whether they communicate
};

/// The step budget: busy and idle time that add up to the wall time. Budgets of several stretches of time, or of several kinds of steps,
/// add up.
struct step_budget {
  step_budget() = default;

  /// Computes the budgets by kind of step.
  /// @param wall the host steps, or the GPU periods.
  /// @param kinds the kinds of these steps.
  [[nodiscard]] static own_vector<step_budget> of_kinds(budget_basis const& from, measured_time const& wall, kind_positions const& kinds) {
    own_vector<busy_sums> busy = busy_sums::of_kinds(from.records, wall, kinds, from.operations, from.communicates);
    own_vector<gpu_idle> idle = find_gpu_idle(from.records, from.launched, from.calls, from.steps_thread, from.operations, wall, kinds);
    own_vector<step_budget> result(kinds.count);
    for (std::size_t kind = 0; kind < kinds.count; ++kind) {
      result[kind].busy = std::move(busy[kind]);
      result[kind].idle = std::move(idle[kind]);
    }
    return result;
  }

  template <class Archive>
  friend void fields(Archive& archive, step_budget& value) {
    archive(value.busy), archive(value.idle);
  }

  void add(step_budget const& other) {
    busy.add(other.busy);
    idle.add(other.idle);
  }

  /// @return the number of paths with figures.
  [[nodiscard]] std::size_t paths() const noexcept { return std::max(busy.paths(), idle.of_path.size()); }

  busy_sums busy;
  gpu_idle idle;
};

}  // namespace profkit::detail
