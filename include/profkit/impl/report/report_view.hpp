// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "../../summary.hpp"
#include "../../time.hpp"
#include "../analyze/readings.hpp"
#include "../analyze/verdict/mean_interval.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "folded_scopes.hpp"
#include "numbers.hpp"

namespace PROFKIT_NAMESPACE::detail {

// Measured causes of steps that differ. Rule: docs/statistics.md.

/// The minimum of `noise_cause::lost`, relative to the mean distance of a step from the median step. Error rates: docs/statistics.md.
inline constexpr double min_cause = 0.9;

/// A measured cause.
struct noise_cause {
  double lost = 0.0;  ///< mean share of the step time that it took
  std::string words{};
  std::string advice{};
};

/// The mean distance of a step from the median step, as a share of the mean; n/a without steps.
inline std::optional<double> mean_distance(step_summary const& times) {
  own_vector<double> ms;
  double sum = 0.0;
  for (milliseconds const each : main_samples(times)) {
    ms.push_back(each.count());
    sum += each.count();
  }
  auto const spread = median_and_mad(ms);
  if (!spread || sum <= 0.0) return std::nullopt;
  double distance = 0.0;
  for (double const each : ms) distance += std::abs(each - spread->median);
  return distance / sum;
}

/// All measured causes, whatever their size.
/// @param times the steps of a kind, or of all kinds. @param budget of the same steps; n/a if kernels were not collected.
inline own_vector<noise_cause> noise_causes(summary const& all, step_summary const& times, std::optional<budget_summary> const& budget) {
  own_vector<noise_cause> causes;
  bool const is_of_host = &main_times(times) == &times.host;
  std::optional<double> busy;
  if (budget && budget->wall.count() > 0.0) busy = budget->busy / budget->wall;
  if (auto const& speed = all.environment.host_speed; speed && speed->waiting) {
    // A GPU that works is not delayed by its host.
    double const most = is_of_host ? 1.0 : 1.0 - busy.value_or(0.0);
    causes.push_back({std::min(*speed->waiting, most),
                      fmt::format("the step thread waited {} of the time for a processor", share_words(*speed->waiting)),
                      "Stop other programs, or use fewer threads than processors: more steps do not help."});
  }
  for (clock_summary const& each : all.steps.clocks) {
    double const most = busy.value_or(is_of_host ? 0.0 : 1.0);
    if (each.max_mhz == 0) continue;
    double const slower = 1.0 - each.mean_mhz / static_cast<double>(each.max_mhz);
    causes.push_back({slower * most,
                      fmt::format("the SM clock of device {} changed between {} and {} MHz, and was {} below the highest on average",
                                  each.device, each.min_mhz, each.max_mhz, share_words(slower)),
                      "Lock the clocks (nvidia-smi -lgc): more steps do not help."});
  }
  return causes;
}

/// The largest measured cause of steps that are drifting, uneven or noisy, if it can explain most of the noise; otherwise n/a.
inline std::optional<noise_cause> largest_noise_cause(summary const& all, step_summary const& times,
                                                      std::optional<budget_summary> const& budget) {
  step_verdict const verdict = main_verdict(times).verdict;
  if (verdict != step_verdict::drifting && verdict != step_verdict::uneven && verdict != step_verdict::noisy) return std::nullopt;
  std::optional<double> const distance = mean_distance(times);
  if (!distance) return std::nullopt;
  std::optional<noise_cause> largest;
  for (noise_cause& each : noise_causes(all, times, budget)) {
    if (each.lost > min_cause * *distance && each.lost > (largest ? largest->lost : 0.0)) largest = std::move(each);
  }
  return largest;
}

// The summary as the sections of a report see it.

/// The names of `idle_cause` in tables and traces, by value.
inline constexpr std::array<char const*, idle_causes> idle_cause_names{"launch-bound", "host-bound", "synchronisation", "copies", "queued"};

/// Their names in report.json.
inline constexpr std::array<char const*, idle_causes> idle_cause_keys{"launch_bound_ms", "host_bound_ms", "synchronisation_ms", "copies_ms",
                                                                      "queued_ms"};

/// The sum of the idle time of all parts, by cause.
inline std::array<milliseconds, idle_causes> idle_of_all(budget_summary const& budget) {
  std::array<milliseconds, idle_causes> sum{};
  for (budget_row const& row : budget.rows) {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) sum[cause] += row.idle[cause];
  }
  return sum;
}

/// Whether the time of a cause was measured.
inline bool is_known(budget_summary const& budget, std::size_t cause) {
  return budget.has_launches || static_cast<idle_cause>(cause) != idle_cause::launching;
}

struct kind_tree {
  step_kind_summary const* kind;
  folded_tree tree;
};

/// A summary, prepared for a report: the main kind of step, the other kinds, and the folded tree of each.
struct report_view {
  /// @param figures must outlive this.
  explicit report_view(summary const& figures) : all{figures}, kinds{figures} {
    trees.push_back({&kinds.main(), {figures, kinds.main()}});
    if (!kinds.has_several()) return;
    for (step_kind_summary const* const each : kinds.others()) trees.push_back({each, {figures, *each}});
  }

  [[nodiscard]] step_kind_summary const& main() const noexcept { return kinds.main(); }
  [[nodiscard]] bool is_main(step_kind_summary const& kind) const noexcept { return &kind == &main(); }
  [[nodiscard]] folded_tree const& tree() const noexcept { return trees.front().tree; }
  /// Length of a step of the main kind, the denominator of shares; 0 if no step was measured.
  [[nodiscard]] double step_ms() const noexcept { return step_length(main()).count(); }
  /// The place to begin with, for all sentences of the report.
  [[nodiscard]] std::optional<time_place> largest_place() const { return tree().largest_place(step_ms()); }
  [[nodiscard]] bool has_steps() const noexcept { return all.covers_steps && all.steps.host.count > 0; }

  summary const& all;
  report_kinds kinds;
  std::optional<noise_cause> cause{largest_noise_cause(all, main().times, main().budget)};  ///< of the main kind
  std::list<kind_tree> trees;  ///< of the kinds that a report shows, the main kind first
};

/// The mean time that the loop needs between steps, beyond the step time. Work of the GPU hides the rest.
inline milliseconds exposed_between(step_summary const& times) noexcept {
  return times.step_time ? loop_time(times) - times.step_time->mean : milliseconds{};
}

/// The share of it in the wall time of the loop; 0 if it is unknown.
inline double share_between(step_summary const& times) noexcept {
  milliseconds const loop = loop_time(times);
  return loop.count() > 0.0 ? exposed_between(times) / loop : 0.0;
}

/// The minimum of `share_between` for a finding.
inline constexpr double min_share_between = 0.05;

/// Idle time of all parts by cause, in milliseconds per step.
inline std::array<double, idle_causes> idle_per_step(budget_summary const& budget) {
  std::array<milliseconds, idle_causes> const sum = idle_of_all(budget);
  std::array<double, idle_causes> result{};
  for (std::size_t i = 0; i < idle_causes; ++i) result[i] = sum[i].count() / gpu_steps(budget);
  return result;
}

/// The maximum time that a CUDA graph or fewer launches can save, in milliseconds per step.
inline double launch_time(budget_summary const& budget) {
  std::array<double, idle_causes> const idle = idle_per_step(budget);
  return idle[static_cast<std::size_t>(idle_cause::launching)] + idle[static_cast<std::size_t>(idle_cause::queued)];
}

/// The scope with the most idle time of a cause; null if there is none.
inline starving_scope const* max_waiting_scope(budget_summary const& budget, idle_cause cause) {
  starving_scope const* best = nullptr;
  auto const at = static_cast<std::size_t>(cause);
  for (starving_scope const& each : budget.starving) {
    if (each.by_cause[at].count() > (best == nullptr ? 0.0 : best->by_cause[at].count())) best = &each;
  }
  return best;
}

/// GPU time of a step of the main kind that was launched outside any scope, in milliseconds; 0 without a budget.
inline double outside_ms(report_view const& view) {
  if (!view.main().budget) return 0.0;
  for (budget_row const& row : view.main().budget->rows) {
    if (row.part == outside_any_scope) return row.busy.count() / gpu_steps(view.main());
  }
  return 0.0;
}

/// Classes of the kernels of a kind with their time per step in milliseconds, longest first, "other" last.
inline own_vector<std::pair<std::string, double>> class_times(summary const& all, step_kind_summary const& kind) {
  own_vector<std::pair<std::string, double>> result;
  if (!all.gpu) return result;
  double const steps = gpu_steps(kind);
  for (kind_kernel_summary const& each : kind.kernels) {
    if (each.kernel >= all.gpu->kernels.size()) continue;
    std::string const& name = all.gpu->kernels[each.kernel].kernel_class;
    auto at = std::find_if(result.begin(), result.end(), [&](auto const& row) { return row.first == name; });
    if (at == result.end()) at = result.insert(result.end(), {name, 0.0});
    at->second += each.total.count() / steps;
  }
  own_stable_sort(result.begin(), result.end(), [](auto const& a, auto const& b) {
    bool const is_other_a = a.first == "other";
    bool const is_other_b = b.first == "other";
    return is_other_a != is_other_b ? is_other_b : a.second > b.second;
  });
  return result;
}

/// Sum of the kernels of a kind per step, in milliseconds.
inline double kernel_ms(step_kind_summary const& kind) {
  milliseconds sum{};
  for (kind_kernel_summary const& each : kind.kernels) sum += each.total;
  return sum.count() / gpu_steps(kind);
}

}  // namespace PROFKIT_NAMESPACE::detail
