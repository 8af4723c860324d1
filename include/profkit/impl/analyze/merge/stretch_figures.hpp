// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../memory/memory_sums.hpp"
#include "../ranks/timeline_part.hpp"
#include "../time/time_per_step.hpp"
#include "gpu_period_list.hpp"
#include "step_list.hpp"
#include "trend_part.hpp"

namespace profkit::detail {

/// The figures of a stretch of time that depend on the stretch before it.
struct stretch_figures {
  step_list steps;
  time_per_step per_step;
  gpu_period_list gpu_periods;
  trend_part trend;
  crossing_balances balances;
  timeline_part timeline;

  template <class Archive>
  friend void fields(Archive& archive, stretch_figures& state) {
    archive(state.steps), archive(state.per_step), archive(state.gpu_periods), archive(state.trend), archive(state.balances),
        archive(state.timeline);
    if constexpr (Archive::is_reader) {
      archive.check(state.gpu_periods.count() <= state.steps.host().count(), "more steps were made on devices than on the host");
    }
  }

  /// Whether all positions are below these numbers.
  [[nodiscard]] bool is_in(std::size_t paths, std::size_t names, std::size_t allocators) const {
    return per_step.is_in(paths, names) && balances.is_in(allocators, paths) && timeline.is_in(paths);
  }

  /// Appends the figures of the following stretch.
  void append(stretch_figures const& next) {
    steps.append(next.steps);
    per_step.append(next.per_step);
    gpu_periods.append(next.gpu_periods);
    trend.append(next.trend);
    balances.append(next.balances);
    timeline.append(next.timeline);
  }
};

}  // namespace profkit::detail
