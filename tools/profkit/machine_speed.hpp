// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program {

/// An interval of logarithms of ratios.
struct log_range {
  double low = 0.0;
  double high = 0.0;
};

/// How much slower the machine of B was than that of A, according to `environment.host_speed` of the runs. Logarithms of ratios: 0 means
/// equally fast, above 0 slower.
struct machine_change {
  double probe = 0.0;    ///< duration of the probe
  double waiting = 0.0;  ///< time that the step thread waited for a processor
  /// No run used a GPU, so waiting for a processor made the step longer by as much. A step that waits for a GPU may hide it.
  bool is_waiting_certain = false;
  double max_waiting = 0.0;                ///< largest waiting share of a run
  std::vector<double> probe_deviations;    ///< distance of each run from the mean of its side: first A, then B
  std::vector<double> waiting_deviations;  ///< the same for waiting

  /// The change of a host time that follows the speed of the machine fully.
  [[nodiscard]] double log_ratio() const { return probe + waiting; }

  /// The change of a host time that the program certainly did not cause.
  [[nodiscard]] double certain() const { return is_waiting_certain ? waiting : 0.0; }

  /// The possible change of a host time because of the machine: a time follows the probe fully, partly or not at all.
  [[nodiscard]] log_range effect() const {
    double const open = log_ratio() - certain();
    return {certain() + std::min(0.0, open), certain() + std::max(0.0, open)};
  }
};

namespace detail {

/// If a thread waits for a processor for a share w of its time, its work takes 1 / (1 - w) times as long.
inline double log_waiting(double share) { return -std::log(1.0 - std::clamp(share, 0.0, 0.98)); }

/// Appends the distances from the mean. @return the mean.
inline double add_deviations(std::vector<double> const& values, std::vector<double>& to) {
  double mean = 0.0;
  for (double const each : values) mean += each / static_cast<double>(values.size());
  for (double const each : values) to.push_back(each - mean);
  return mean;
}

}  // namespace detail

/// @return nothing if a run lacks the probe. Waiting counts if all runs have it.
[[nodiscard]] inline std::optional<machine_change> find_machine_change(std::vector<run_figures> const& a,
                                                                       std::vector<run_figures> const& b) {
  bool has_waiting = true;
  machine_change result;
  result.is_waiting_certain = true;
  for (auto const* const side : {&a, &b}) {
    for (run_figures const& run : *side) {
      if (!run.probe_us) return std::nullopt;
      has_waiting = has_waiting && run.waiting;
      if (run.kernels || run.gpu_step) result.is_waiting_certain = false;
    }
  }
  for (auto const* const side : {&a, &b}) {
    double const sign = side == &a ? -1.0 : 1.0;
    std::vector<double> probe;
    std::vector<double> waiting;
    for (run_figures const& run : *side) {
      double const share = has_waiting ? *run.waiting : 0.0;
      probe.push_back(std::log(*run.probe_us));
      waiting.push_back(detail::log_waiting(share));
      result.max_waiting = std::max(result.max_waiting, share);
    }
    result.probe += sign * detail::add_deviations(probe, result.probe_deviations);
    result.waiting += sign * detail::add_deviations(waiting, result.waiting_deviations);
  }
  return result;
}

}  // namespace profkit_program
