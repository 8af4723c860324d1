// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "../../profile/own_memory.hpp"
#include "../memory/memory_balance.hpp"
#include "../ranks/timeline_part.hpp"
#include "../time/time_per_step.hpp"
#include "gpu_period_list.hpp"
#include "moved.hpp"
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
    per_step.append(next.per_step, same_position{}, same_position{});
    gpu_periods.append(next.gpu_periods);
    trend.append(next.trend);
    balances.append(next.balances, same_position{}, same_position{});
    timeline.append(next.timeline);
  }

  /// Moves all figures to new positions of paths, of names of GPU operations and of allocators.
  void move(own_vector<std::uint32_t> const& path_of, own_vector<std::uint32_t> const& name_of,
            own_vector<std::uint32_t> const& allocator_of) {
    if (!stay(path_of) || !stay(name_of) || !per_step.is_in(path_of.size(), name_of.size())) {
      time_per_step moved_steps;
      moved_steps.append(per_step, moved_position{path_of}, moved_position{name_of});
      per_step = std::move(moved_steps);
    }
    crossing_balances moved_balances;
    moved_balances.append(balances, moved_position{allocator_of}, moved_position{path_of});
    balances = std::move(moved_balances);
    timeline.move(moved_position{path_of});
  }

  /// Moves the steps to new positions of paths.
  void move_steps(own_vector<std::uint32_t> const& path_of) {
    if (stay(path_of)) return;
    timeline.move(moved_position{path_of});
    time_per_step moved_steps;
    moved_steps.append(per_step, moved_position{path_of}, same_position{});
    per_step = std::move(moved_steps);
  }
};

}  // namespace profkit::detail
