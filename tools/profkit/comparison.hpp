// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace profkit_program {

enum class verdict : std::uint8_t { faster, slower, same, unsure, added, gone };
inline constexpr std::size_t verdicts = 6;

enum class row_kind : std::uint8_t { step, scope, kernel };

enum class time_kind : std::uint8_t { automatic, gpu, host };

/// Noise is the standard deviation of a mean from run to run, as a share of it: what is assumed where the runs are too few to tell.
struct compare_options {
  double gpu_noise = 0.005;
  double host_noise = 0.15;          ///< or more, if the host times of most scopes differ by more; see `is_host_noise_known`
  bool is_host_noise_known = false;  ///< it is what this machine does, not a guess
  double copy_noise = 0.3;           ///< of copies from and to the host
  double margin = 0.02;              ///< a change of less does not matter
  double floor = 0.00005;            ///< nor does one of less than this share of the step
  double error_rate = 0.05;          ///< of wrong FASTER and SLOWER: of the step, and of all other rows together
  time_kind time = time_kind::automatic;
  std::string scope;  ///< only scopes with this path, or inside it; empty: all, and kernels, and the step
};

struct comparison_row {
  row_kind kind = row_kind::step;
  std::string name;  ///< path of a scope, name of a kernel
  bool is_gpu = false;
  double a_ms = 0.0;  ///< per step
  double b_ms = 0.0;
  std::optional<double> change;                    ///< of A; n/a where there is nothing in A, like all that follows
  std::optional<std::pair<double, double>> range;  ///< of the change, right for all rows at once
  std::optional<std::pair<double, double>> own;    ///< of the change, 90 %, for this row alone: SAME if it lies within the margin
  std::optional<double> effect;                    ///< Hedges' g; see `hedges_g`
  verdict says = verdict::same;
};

struct comparison {
  std::vector<comparison_row> rows;     ///< the step, scopes in the order of the tree, kernels
  std::size_t judged = 0;               ///< scopes and kernels that share the error rate: those that take more than the floor
  double host_noise = 0.0;              ///< that was assumed, where it was
  bool step_noise_is_measured = false;  ///< that between runs is estimated from them, not assumed: of the step
  bool noise_is_measured = false;       ///< of scopes and kernels
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(verdict which) const {
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [&](comparison_row const& each) { return each.says == which; }));
  }

  /// Whether a row is slower by at least `limit`: its whole range is.
  [[nodiscard]] static bool is_slower_by(comparison_row const& row, double limit) {
    if (row.says != verdict::slower) return false;
    return !row.range || row.range->first >= limit;
  }
};

}  // namespace profkit_program
