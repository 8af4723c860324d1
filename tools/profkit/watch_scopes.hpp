// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/impl/report/folded_scopes.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
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

/// The budget of usual steps, or of all if no kind is usual. @pre `has_gpu_time(figures)`.
[[nodiscard]] inline profkit::budget_summary const& usual_budget(profkit::summary const& figures) {
  bool const is_known = !figures.kinds.empty() && figures.kinds.front().is_usual && figures.kinds.front().budget &&
                        figures.kinds.front().budget->steps > 0 && figures.kinds.front().budget->wall.count() > 0.0;
  return is_known ? *figures.kinds.front().budget : *figures.budget;
}

/// The scopes with at least 0.5 % of the step, in the order of the tree. The step is that of the usual kind, if there is one. Siblings that
/// differ in their index only are one row.
[[nodiscard]] inline std::vector<watched_scope> watched_scopes(profkit::summary const& figures) {
  constexpr double min_share = 0.005;
  bool const is_of_gpu = has_gpu_time(figures);
  profkit::detail::report_kinds const kinds{figures};
  profkit::step_kind_summary const& kind = kinds.main();
  profkit::detail::folded_tree const tree{figures, kind};
  double const step =
      is_of_gpu ? profkit::detail::step_length(kind).count() : kind.times.host.mean.value_or(profkit::milliseconds{}).count();
  std::vector<watched_scope> result;
  auto const add = [&](profkit::detail::folded_scope const& scope, std::string name, std::uint32_t depth) {
    watched_scope row;
    row.name = scope.folded > 1 ? fmt::format("{} x {}", name, scope.folded) : std::move(name);
    row.depth = depth;
    row.calls = scope.count;
    row.host = row.time = profkit::milliseconds{scope.host};
    if (is_of_gpu) {
      row.busy = profkit::milliseconds{scope.busy.value_or(0.0)};
      row.idle = profkit::milliseconds{scope.idle.value_or(0.0)};
      row.time = *row.busy + *row.idle;
    }
    if (figures.covers_steps && step > 0.0) row.share = row.time.count() / step;
    if (row.time.count() > 0.0 && row.share.value_or(1.0) >= min_share) result.push_back(std::move(row));
  };
  if (tree.step()) add(*tree.step(), figures.scopes.front().name, 0);
  for (profkit::detail::folded_scope const& each : tree.rows())
    add(each, each.name, each.depth + (tree.step() && each.is_of_step_thread ? 1U : 0U));
  std::vector<std::size_t> by_time(result.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) { return result[a].time > result[b].time; });
  for (std::size_t rank = 0; rank < by_time.size(); ++rank) result[by_time[rank]].rank = rank;
  return result;
}

}  // namespace profkit_program
