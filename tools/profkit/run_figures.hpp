// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace profkit_program {

/// Time per step over the measured steps of a run; a step without the item counts as 0. In a run without steps: time per scope.
struct figures {
  std::uint64_t steps = 0;  ///< number of steps, or of scopes
  double mean_ms = 0.0;
  double std_ms = 0.0;           ///< standard deviation of the sample
  double autocorrelation = 0.0;  ///< lag 1, without bias correction; 0 if n/a
};

inline constexpr std::array<char const*, 3> quantile_names{"p50", "p95", "p99"};

struct scope_figures {
  std::string path;
  figures host;
  std::optional<figures> gpu;            ///< n/a if kernels were not collected
  double host_copies_ms = 0.0;           ///< part of the mean of `gpu`
  std::uint64_t count = 0;               ///< scopes, in a run without steps
  std::array<double, 3> quantiles_ms{};  ///< by `quantile_names`, in a run without steps; 0: n/a
};

struct kernel_figures {
  std::string name;  ///< demangled
  std::string key;   ///< mangled name if there is one
  figures gpu;
};

/// The figures of one run that a comparison needs.
struct run_figures {
  std::string file;
  std::string host;  ///< empty if unknown
  std::string gpu;
  std::optional<double> probe_us{};     ///< duration of the host speed probe; n/a in older reports
  std::optional<double> waiting{};      ///< share of the time in which the step thread waited for a processor
  bool has_steps = true;                ///< false: times are of single scopes
  std::vector<double> step_ms{};        ///< host times of the measured steps, in order; means of groups in a long run
  figures step;                         ///< wall time on the host; without steps the mean is the time of all outermost scopes
  std::optional<figures> gpu_step;      ///< between CUDA events
  std::optional<figures> gpu_period{};  ///< GPU period, which is the step time if the host runs ahead
  std::vector<scope_figures> scopes;    ///< in the order of the tree; paths are unique
  std::optional<std::vector<kernel_figures>> kernels;  ///< n/a if kernels were not collected; keys are unique
  std::vector<std::string> doubts;                     ///< reasons in the report to doubt its figures
};

}  // namespace profkit_program
