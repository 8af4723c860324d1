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
#include "run_figures.hpp"

namespace profkit_program {

enum class verdict : std::uint8_t { faster, slower, same, unsure, added, gone };
inline constexpr std::size_t verdicts = 6;

enum class row_kind : std::uint8_t { step, scope, kernel, function };

enum class time_kind : std::uint8_t { automatic, gpu, host };

/// Options of a comparison. Noise is the standard deviation of a mean between runs, relative to the mean. The assumed noise counts less
/// with each run: see `half_width`. It applies to the part that all rows share, and again to each row.
struct compare_options {
  double gpu_noise = 0.02;
  double host_noise = 0.1;             ///< beyond the part explained by the probe
  double unknown_machine_noise = 0.3;  ///< shared noise of host times instead of `host_noise` if the speed of the machine is unknown
  bool is_host_noise_known = false;    ///< `host_noise` is known for this machine, with or without a probe
  double copy_noise = 0.3;             ///< noise of copies from and to the host
  double margin = 0.02;                ///< smaller changes are irrelevant
  double floor = 0.00005;              ///< changes below this share of the step are irrelevant
  double error_rate = 0.05;            ///< rate of wrong FASTER and SLOWER: for the step, and for all other rows together
  double member_share = 0.2;           ///< part of `error_rate` for single numbered scopes, if there are rows of several
  time_kind time = time_kind::automatic;
  run_statistic statistic = run_statistic::mean;  ///< what the runs were read with
  std::string scope;  ///< only the scope with this path and the scopes inside; empty: all scopes, kernels and the step
};

struct comparison_row {
  row_kind kind = row_kind::step;
  std::string name;          ///< path of a scope, name of a kernel, or both a path and the name of a function: "step/softmax: exp_loop"
  std::size_t siblings = 1;  ///< number of numbered siblings of which the row is the sum: 48 for "step/layer_*"
  std::size_t scopes = 1;    ///< number of scopes of which the row is the sum: 48 for "step/layer_*/attention"
  std::string figure;        ///< the compared figure of scopes, such as "p95"; empty: the mean
  bool is_gpu = false;
  double a_ms = 0.0;  ///< per step
  double b_ms = 0.0;
  double a_count = 0.0;  ///< scopes per run if times are of single scopes; 0: times are per step
  double b_count = 0.0;
  /// Relative to A, without the time that the step thread is known to have waited for a processor, like `range` and `own`. n/a if A does
  /// not have the row, like the following members.
  std::optional<double> change;
  std::optional<std::pair<double, double>> range;  ///< range of the program's change, valid for all rows at once; see `row_family::change`
  std::optional<std::pair<double, double>> own;    ///< 90 % interval of this row alone; see `row_family::change_alone`
  std::optional<double> spread;                    ///< standard deviation between runs of one side, as a share of the mean
  std::optional<double> effect;                    ///< Hedges' g; see `hedges_g`
  verdict says = verdict::same;

  /// The number of scopes per run, if times are of single scopes.
  [[nodiscard]] double occurrences() const { return a_count + b_count > 0.0 ? std::max(a_count, b_count) : 1.0; }
};

/// One of the scopes of which a row is the sum.
struct comparison_member {
  std::size_t row = 0;  ///< position in `comparison::rows`
  comparison_row scope;
};

/// A part of the step: GPU busy time and GPU idle time that is charged to it.
struct comparison_part {
  std::string name;
  double a_ms = 0.0;
  double b_ms = 0.0;
  double busy_difference_ms = 0.0;
  verdict says = verdict::unsure;  ///< never `same`
};

/// The step as the sum of its parts.
struct comparison_budget {
  bool is_usual = false;  ///< of steps of the usual kind; false: of all measured steps
  bool is_of_gpu = false;
  double a_ms = 0.0;
  double b_ms = 0.0;
  std::vector<comparison_part> parts;
};

struct comparison {
  std::vector<comparison_row> rows;           ///< the step, scopes in the order of the tree, kernels, functions
  std::vector<comparison_member> members;     ///< of rows that are sums, in the order of the rows
  std::size_t judged = 0;                     ///< number of scopes, kernels and functions above the floor, which share the error rate
  std::size_t judged_members = 0;             ///< number of members above the floor, which share a part of the error rate
  std::optional<comparison_budget> budget{};  ///< n/a if scopes are compared by host time, or if a run lacks it
  std::size_t runs = 1;                       ///< number of runs of the smaller side
  bool has_steps = true;                      ///< false: times are of single scopes
  bool is_noise_measured = false;             ///< true with more than two runs
  double host_noise = 0.0;                    ///< the assumed shared noise of host times
  bool is_usual_step = false;                 ///< the step is that of the usual kind; scopes and kernels are means of all measured steps
  std::optional<machine_change> machine;      ///< n/a if a run has no probe
  double host_total_ms = 0.0;                 ///< of the longer side: step time, or without steps the time of all outermost scopes
  double gpu_total_ms = 0.0;                  ///< GPU operations per step of the longer side; 0 if not compared
  std::vector<double> step_means_a{};         ///< by run: the mean of the step as it is compared, ms; empty if the step is not compared
  std::vector<double> step_means_b{};
  std::vector<std::string> notes;

  [[nodiscard]] std::size_t count(verdict which) const {
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [&](comparison_row const& each) { return each.says == which; }));
  }
};

/// The error rate of all rows but the step together. If there are members, these have the rest.
[[nodiscard]] inline double row_error_rate(comparison const& comparison, compare_options const& options) {
  return options.error_rate * (comparison.judged_members > 0 ? 1.0 - options.member_share : 1.0);
}

}  // namespace profkit_program
