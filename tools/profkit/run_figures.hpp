// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace profkit_program {

/// What something took per step, over the measured steps of a run; a step in which it did not occur counts as 0. In a run without steps:
/// what one scope took.
struct figures {
  std::uint64_t steps = 0;  ///< or scopes
  double mean_ms = 0.0;
  double std_ms = 0.0;           ///< of the sample
  double autocorrelation = 0.0;  ///< lag 1, the plain estimate; 0 where it is n/a
};

inline constexpr std::array<char const*, 3> quantile_names{"p50", "p95", "p99"};

struct scope_figures {
  std::string path;
  figures host;
  std::optional<figures> gpu;            ///< n/a where kernels were not collected
  double host_copies_ms = 0.0;           ///< of the mean of `gpu`
  std::uint64_t count = 0;               ///< scopes, in a run without steps
  std::array<double, 3> quantiles_ms{};  ///< by `quantile_names`, in a run without steps; 0: n/a
};

struct kernel_figures {
  std::string name;  ///< demangled
  std::string key;   ///< mangled where there is such a name
  figures gpu;
};

/// What a comparison needs of one run.
struct run_figures {
  std::string file;
  std::string host;  ///< empty where it is not known
  std::string gpu;
  std::optional<double> probe_us{};     ///< duration of the probe of the host's speed; n/a in reports before profkit had one
  std::optional<double> waiting{};      ///< share of the time in which the step thread waited for a processor
  bool has_steps = true;                ///< false: times are of single scopes
  figures step;                         ///< wall time on the host; without steps the mean is the time of all outermost scopes
  std::optional<figures> gpu_step;      ///< between CUDA events
  std::optional<figures> gpu_period{};  ///< of the kernels, where the host runs ahead: then it is what a step takes
  std::vector<scope_figures> scopes;    ///< in the order of the tree; paths are unique
  std::optional<std::vector<kernel_figures>> kernels;  ///< n/a where kernels were not collected; keys are unique
  std::vector<std::string> doubts;                     ///< what the report itself says against its figures
};

}  // namespace profkit_program
