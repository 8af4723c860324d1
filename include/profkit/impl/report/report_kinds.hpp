// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../../summary.hpp"
#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// All measured steps as one kind; without steps, the whole session.
inline step_kind_summary kind_of_all(summary const& all) {
  step_kind_summary result;
  result.name = all.covers_steps ? "all steps" : "session";
  result.steps = all.steps.host.count;
  result.gpu_steps = all.gpu ? all.gpu->steps : 0;
  result.times = all.steps;
  result.budget = all.budget;
  for (std::size_t i = 0; i < all.scopes.size(); ++i) {
    scope_summary const& scope = all.scopes[i];
    kind_scope_summary row;
    row.scope = i;
    row.count = scope.host.count;
    row.host = scope.host.total;
    if (scope.gpu) row.busy = scope.gpu->busy;
    if (scope.gpu_idle) {
      row.idle = scope.gpu_idle->inclusive;
      row.idle_self = scope.gpu_idle->self;
    }
    result.scopes.push_back(row);
  }
  if (!all.gpu) return result;
  for (std::size_t i = 0; i < all.gpu->kernels.size(); ++i) {
    duration_summary const& time = all.gpu->kernels[i].time;
    result.kernels.push_back({i, time.count, time.total, time.min.value_or(milliseconds{}), time.max.value_or(milliseconds{}), {}});
  }
  return result;
}

/// The kinds of steps that a report shows: the main kind, which its sections describe, and at most three others. The main kind is the usual
/// kind. If there is none, or if kinds are unknown, it consists of all measured steps.
class report_kinds {
 public:
  static constexpr std::size_t max_shown = 3;  ///< includes the usual kind

  /// @param all must outlive this.
  explicit report_kinds(summary const& all) : summary_{all} {
    if (all.kinds.empty() || !all.kinds.front().is_usual) all_ = kind_of_all(all);
  }

  [[nodiscard]] step_kind_summary const& main() const noexcept { return all_ ? *all_ : summary_.kinds.front(); }

  /// Other kinds that are shown, by number of steps.
  [[nodiscard]] own_vector<step_kind_summary const*> others() const {
    own_vector<step_kind_summary const*> result;
    std::size_t const first = all_ ? 0 : 1;
    for (std::size_t i = first; i < summary_.kinds.size() && i < max_shown; ++i) result.push_back(&summary_.kinds[i]);
    return result;
  }

  /// Number of kinds that are not shown.
  [[nodiscard]] std::size_t hidden() const noexcept { return summary_.kinds.size() - std::min(summary_.kinds.size(), max_shown); }

  /// Number of steps of the kinds that are not shown.
  [[nodiscard]] std::uint64_t hidden_steps() const noexcept {
    std::uint64_t result = 0;
    for (std::size_t i = max_shown; i < summary_.kinds.size(); ++i) result += summary_.kinds[i].steps;
    return result;
  }

  /// Whether steps of several kinds were measured.
  [[nodiscard]] bool has_several() const noexcept { return summary_.kinds.size() > 1; }

  /// "usual step" if there are other kinds, otherwise "step"; without steps "session".
  [[nodiscard]] std::string main_words() const {
    if (!summary_.covers_steps) return "session";
    return has_several() && !all_ ? "usual step" : "step";
  }

 private:
  summary const& summary_;
  std::optional<step_kind_summary> all_;
};

/// Divisor from sums over the steps of a kind to host figures per step.
[[nodiscard]] inline double host_steps(step_kind_summary const& kind) noexcept {
  return static_cast<double>(std::max<std::uint64_t>(1, kind.steps));
}

/// Divisor from the sums of a step budget to figures per step.
[[nodiscard]] inline double gpu_steps(budget_summary const& budget) noexcept {
  return static_cast<double>(std::max<std::uint64_t>(1, budget.steps));
}

/// Divisor for all GPU figures of a kind: only steps with kernels collected count.
[[nodiscard]] inline double gpu_steps(step_kind_summary const& kind) noexcept {
  return kind.budget ? gpu_steps(*kind.budget) : static_cast<double>(std::max<std::uint64_t>(1, kind.gpu_steps));
}

/// The mean of the step time (`step_summary::step_time`) if it is known, otherwise of host times; 0 without steps.
[[nodiscard]] inline milliseconds mean_step_time(step_summary const& times) noexcept {
  return times.step_time ? times.step_time->mean : times.host.mean.value_or(milliseconds{});
}

/// The step length of a kind, the denominator of shares: from the budget if there is one, otherwise the step time.
[[nodiscard]] inline milliseconds step_length(step_kind_summary const& kind) noexcept {
  if (kind.budget && kind.budget->wall.count() > 0.0) return kind.budget->wall / gpu_steps(kind);
  return mean_step_time(kind.times);
}

/// The verdict on the step time of the kind.
[[nodiscard]] inline verdict_summary const& main_verdict(step_summary const& times) noexcept {
  std::string const basis = times.step_time ? times.step_time->basis : std::string{};
  if (basis == "GPU step time" && times.gpu_verdict) return *times.gpu_verdict;
  if (basis == "GPU step time (kernels)" && times.gpu_period) return times.gpu_period->verdict;
  return times.host_verdict;
}

/// The times to which `main_verdict` refers.
[[nodiscard]] inline duration_summary const& main_times(step_summary const& times) noexcept {
  std::string const basis = times.step_time ? times.step_time->basis : std::string{};
  if (basis == "GPU step time" && times.gpu) return *times.gpu;
  if (basis == "GPU step time (kernels)" && times.gpu_period) return times.gpu_period->time;
  return times.host;
}

}  // namespace profkit::detail
