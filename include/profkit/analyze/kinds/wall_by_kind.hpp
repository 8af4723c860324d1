// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "../../profile/own_memory.hpp"
#include "../../profile/time.hpp"
#include "../gpu/gpu_step_periods.hpp"
#include "../time/measured_time.hpp"
#include "kind_key.hpp"
#include "step_kinds.hpp"

namespace profkit::detail {

/// The wall time of a budget, with the kinds of its steps.
struct wall_by_kind {
  /// Host step times.
  /// @param found the kinds of all steps.
  /// @param steps the steps that count.
  wall_by_kind(step_kinds const& found, measured_time const& steps) : time{steps} {
    for (interval const& step : steps.steps()) kinds.push_back(found.of_step_at(step.begin));
  }

  /// GPU periods.
  explicit wall_by_kind(own_vector<gpu_wall_part> const& parts) : time{times_of(parts)}, is_of_gpu{true} {
    for (gpu_wall_part const& each : parts) kinds.push_back(each.kind);
  }

  measured_time time;
  own_vector<kind_key> kinds{};  ///< by step
  bool is_of_gpu = false;

 private:
  static measured_time times_of(own_vector<gpu_wall_part> const& parts) {
    own_vector<interval> times;
    times.reserve(parts.size());
    for (gpu_wall_part const& each : parts) times.push_back(each.time);
    return measured_time::of_stretches(std::move(times));
  }
};

}  // namespace profkit::detail
