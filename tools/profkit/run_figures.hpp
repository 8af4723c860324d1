// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace profkit_program {

/// The figure of a run that is compared.
enum class run_statistic : std::uint8_t { mean, median, minimum };
inline constexpr std::array<char const*, 3> statistic_names{"mean", "median", "minimum"};  ///< by `run_statistic`

/// Time per step over the measured steps of a run; a step without the item counts as 0. In a run without steps: time per scope.
struct figures {
  std::uint64_t steps = 0;       ///< number of steps, or of scopes
  double mean_ms = 0.0;          ///< the mean, or what `run_statistic` says
  double std_ms = 0.0;           ///< standard deviation of the sample; of another statistic: its standard error times sqrt(`steps`)
  double autocorrelation = 0.0;  ///< lag 1, without bias correction; 0 if n/a
  /// Variance of the mean relative to what `autocorrelation` says, from the description of the series: slow changes, or rare long steps.
  /// Infinite if further steps may have another mean: `profkit::series_description::without_mean`.
  double slow = 1.0;
};

inline constexpr std::array<char const*, 3> quantile_names{"p50", "p95", "p99"};

/// The name of a scope with the recorder's index (`PROF_SCOPE_INDEXED`), taken apart.
struct numbered_name {
  std::string pattern;  ///< "layer_*"
  std::int64_t index = 0;
};

struct scope_figures {
  std::string path;
  figures host;
  std::optional<figures> gpu;            ///< n/a if kernels were not collected
  double host_copies_ms = 0.0;           ///< part of the mean of `gpu`
  std::uint64_t count = 0;               ///< scopes, in a run without steps
  std::array<double, 3> quantiles_ms{};  ///< by `quantile_names`, in a run without steps; 0: n/a
  std::string around{};                  ///< path of the scope around it; empty: none
  /// n/a for a scope without an index, and in runs without steps: means and quantiles of single scopes have no sum.
  std::optional<numbered_name> number{};
};

struct kernel_figures {
  std::string name;  ///< demangled
  std::string key;   ///< mangled name if there is one
  figures gpu;
};

/// A function in the own time of a scope, by host samples.
struct function_figures {
  std::string name;  ///< "step/softmax: exp_loop"
  std::string path;  ///< of the scope; empty: outside any scope
  figures host;      ///< processor time; its standard deviation contains that of sampling
  std::uint64_t samples = 0;
};

/// The shares of the units of the devices over the run, by name: means over the devices.
using unit_shares = std::vector<std::pair<std::string, double>>;

/// The mean time of a part of the step: a moment counts for the part whose GPU operation runs, or in which the host is while none runs.
struct part_figures {
  std::string name;
  double busy_ms = 0.0;
  double idle_ms = 0.0;
};

/// The step as the sum of its parts.
struct budget_figures {
  bool is_of_gpu = false;  ///< the step is the GPU period
  double step_ms = 0.0;
  std::vector<part_figures> parts;  ///< names are unique
};

/// The measured steps of the usual kind: steps with the same parts, at least half of all.
struct usual_steps {
  std::vector<std::string> parts;
  std::uint64_t others = 0;  ///< number of measured steps of other kinds
  figures host;
  std::optional<figures> gpu_step;
  std::optional<figures> gpu_period;
  std::optional<budget_figures> budget{};
};

/// The figures of one run that a comparison needs.
struct run_figures {
  std::string file;
  std::string host;  ///< empty if unknown
  std::string gpu;
  std::optional<double> probe_us{};  ///< duration of the host speed probe; n/a in older reports
  std::optional<double> waiting{};   ///< share of the time in which the step thread waited for a processor
  bool has_steps = true;             ///< false: times are of single scopes
  /// Host times of the steps in order, with warm-up; a sample of them in a long run.
  std::vector<profkit::detail::plotted_step> host_steps{};
  std::vector<profkit::detail::plotted_step> gpu_steps{};  ///< GPU times of these steps; empty if they are not known
  figures step;                         ///< wall time on the host; without steps the mean is the time of all outermost scopes
  std::optional<figures> gpu_step;      ///< between CUDA events
  std::optional<figures> gpu_period{};  ///< GPU period, which is the step time if the host runs ahead
  std::optional<usual_steps> usual{};   ///< n/a if no kind of step is usual
  /// Of all measured steps; n/a if kernels were not collected.
  std::optional<budget_figures> budget{};
  std::vector<scope_figures> scopes;                       ///< in the order of the tree; paths are unique
  std::optional<std::vector<kernel_figures>> kernels;      ///< n/a if kernels were not collected; keys are unique
  std::optional<std::vector<function_figures>> functions;  ///< n/a without host samples; names are unique
  double sampling_interval_us = 0.0;
  double sample_ms = 0.0;                  ///< processor time per step for which one host sample in the run stands; 0: no samples
  std::vector<std::string> cut_scopes{};   ///< paths of the scopes that have more functions than `functions` lists
  std::optional<unit_shares> utilization;  ///< n/a if it was not measured
  std::size_t utilized_devices = 0;        ///< number of devices of `utilization`
  unit_shares energy;                      ///< joules per step, by meter; empty if energy was not measured
  std::vector<std::string> doubts;         ///< reasons in the report to doubt its figures
};

}  // namespace profkit_program
