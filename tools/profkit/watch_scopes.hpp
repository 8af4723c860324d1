// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/analyze/summary.hpp>
#include <profkit/profile/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace profkit_program {

/// A row of the tree of scopes on the screen. Times are means per step; sums in a session without steps.
struct watched_scope {
  std::string name;
  std::uint32_t depth = 0;
  double calls = 0.0;
  profkit::milliseconds time{};  ///< GPU busy and idle time; host time if kernels were not collected
  std::optional<double> share;   ///< of the step
  std::optional<profkit::milliseconds> busy;
  std::optional<profkit::milliseconds> idle;
  profkit::milliseconds host{};
  std::size_t rank = 0;  ///< 0: the longest. A scope comes before those in it
};

/// Whether scopes have GPU time.
[[nodiscard]] inline bool has_gpu_time(profkit::summary const& figures) {
  return figures.budget && figures.budget->steps > 0 && figures.gpu && figures.gpu->steps > 0 && figures.budget->wall.count() > 0.0;
}

/// The scopes with at least 0.5 % of the step, in the order of the tree.
[[nodiscard]] inline std::vector<watched_scope> watched_scopes(profkit::summary const& figures) {
  constexpr double least_share = 0.005;
  bool const is_of_gpu = has_gpu_time(figures);
  double const steps = figures.covers_steps ? std::max<double>(1.0, static_cast<double>(figures.steps.host.count)) : 1.0;
  double const gpu_steps = is_of_gpu ? static_cast<double>(figures.gpu->steps) : 1.0;
  std::vector<watched_scope> result;
  for (profkit::scope_summary const& each : figures.scopes) {
    watched_scope row{each.name, each.depth, static_cast<double>(each.host.count) / steps, {}, {}, {}, {}, each.host.total / steps, 0};
    row.time = row.host;
    row.share = each.share_of_steps;
    if (is_of_gpu) {
      row.busy = each.gpu ? each.gpu->busy / gpu_steps : profkit::milliseconds{};
      row.idle = each.gpu_idle ? each.gpu_idle->inclusive / gpu_steps : profkit::milliseconds{};
      row.time = *row.busy + *row.idle;
      row.share = row.time / (figures.budget->wall / static_cast<double>(figures.budget->steps));
    }
    if (row.time.count() > 0.0 && row.share.value_or(1.0) >= least_share) result.push_back(std::move(row));
  }
  std::vector<std::size_t> by_time(result.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) { return result[a].time > result[b].time; });
  for (std::size_t rank = 0; rank < by_time.size(); ++rank) result[by_time[rank]].rank = rank;
  return result;
}

}  // namespace profkit_program
