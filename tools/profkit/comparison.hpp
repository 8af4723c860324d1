// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine_speed.hpp"

namespace profkit_program {

enum class verdict : std::uint8_t { faster, slower, same, unsure, added, gone };
inline constexpr std::size_t verdicts = 6;

enum class row_kind : std::uint8_t { step, scope, kernel };

enum class time_kind : std::uint8_t { automatic, gpu, host };

/// Noise is the standard deviation of a mean from run to run, as a share of it. It is assumed, and counts for less with each run: see
/// `half_width`. It holds for what all rows have in common, and again for each row alone.
struct compare_options {
  double gpu_noise = 0.02;
  double host_noise = 0.1;  ///< beyond what the probe says
  double unknown_machine_noise =
      0.3;  ///< instead of `host_noise`, of what all host times have in common, where the machine's speed is not known
  bool is_host_noise_known = false;  ///< it is what this machine does, with or without a probe
  double copy_noise = 0.3;           ///< of copies from and to the host
  double margin = 0.02;              ///< a change of less does not matter
  double floor = 0.00005;            ///< nor does one of less than this share of the step
  double error_rate = 0.05;          ///< of wrong FASTER and SLOWER: of the step, and of all other rows together
  time_kind time = time_kind::automatic;
  std::string scope;  ///< only scopes with this path, or inside it; empty: all, and kernels, and the step
};

struct comparison_row {
  row_kind kind = row_kind::step;
  std::string name;    ///< path of a scope, name of a kernel
  std::string figure;  ///< what is compared of the scopes, such as "p95"; empty: the mean
  bool is_gpu = false;
  double a_ms = 0.0;  ///< per step
  double b_ms = 0.0;
  double a_count = 0.0;  ///< scopes of a run, where times are of single scopes; 0: times are per step
  double b_count = 0.0;
  std::optional<double> change;  ///< of A; n/a where there is nothing in A, like all that follows
  std::optional<std::pair<double, double>>
      range;                                     ///< where the program's change lies, right for all rows at once; see `row_family::change`
  std::optional<std::pair<double, double>> own;  ///< 90 %, for this row alone; see `row_family::change_alone`
  std::optional<double> spread;                  ///< standard deviation between runs of one side, as a share of the mean
  std::optional<double> effect;                  ///< Hedges' g; see `hedges_g`
  verdict says = verdict::same;

  /// How often a run has what the times are of.
  [[nodiscard]] double occurrences() const { return a_count + b_count > 0.0 ? std::max(a_count, b_count) : 1.0; }
};

struct comparison {
  std::vector<comparison_row> rows;       ///< the step, scopes in the order of the tree, kernels
  std::size_t judged = 0;                 ///< scopes and kernels that share the error rate: those that take more than the floor
  std::size_t runs = 1;                   ///< of the side that has fewer
  bool has_steps = true;                  ///< false: the rows are scopes, and times are of one of them
  bool is_noise_measured = false;         ///< there are more than two runs
  double host_noise = 0.0;                ///< that was assumed of what all host times have in common
  std::optional<machine_change> machine;  ///< n/a where a run has no probe
  double host_total_ms = 0.0;             ///< of the longer side: step time, or without steps the time of all outermost scopes
  double gpu_total_ms = 0.0;              ///< GPU operations per step of the longer side; 0 where they are not compared
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(verdict which) const {
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [&](comparison_row const& each) { return each.says == which; }));
  }
};

}  // namespace profkit_program
