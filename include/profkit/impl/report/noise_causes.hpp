// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "../../summary.hpp"
#include "../analyze/readings.hpp"
#include "../analyze/verdict/outliers.hpp"
#include "../profile/own_memory.hpp"
#include "folded_scopes.hpp"
#include "numbers.hpp"

// Measured causes of steps that differ. Rule: docs/statistics.md.

namespace profkit::detail {

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

}  // namespace profkit::detail
