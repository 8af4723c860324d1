// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../profile/time.hpp"
#include "summary.hpp"

namespace profkit {

/// @brief Times of one row of `summary::scopes` in the steps of one kind. All are sums over these steps; divide by
/// `step_kind_summary::steps` for a mean per step.
///
/// Scope time is `busy` plus `idle`: every moment of the step counts in exactly one innermost scope, so that the times of the children and
/// `self` of a scope add up to its time, and those of the roots to `budget_summary::wall`.
struct kind_scope_summary {
  std::size_t scope = 0;                  ///< position in `summary::scopes`
  std::uint64_t count = 0;                ///< number of scopes
  milliseconds host{};                    ///< host time
  std::optional<milliseconds> busy;       ///< GPU busy time charged to the scopes or to scopes inside; n/a if kernels were not collected
  std::optional<milliseconds> busy_self;  ///< the part charged to the scopes themselves
  std::optional<milliseconds> idle;       ///< GPU idle time, like `busy`
  std::optional<milliseconds> idle_self;  ///< the part charged to the scopes themselves
};

/// @brief The operations of one kernel that were launched in one scope.
struct launch_place_summary {
  std::optional<std::size_t> scope;  ///< position in `summary::scopes`; n/a: outside any scope
  std::uint64_t count = 0;           ///< number of executions
  milliseconds total{};              ///< sum of their durations
};

/// @brief The executions of one kernel in the steps of one kind.
struct kind_kernel_summary {
  std::size_t kernel = 0;                         ///< position in `gpu_summary::kernels`
  std::uint64_t count = 0;                        ///< number of executions
  milliseconds total{};                           ///< sum of their durations
  milliseconds min{};                             ///< duration of the shortest
  milliseconds max{};                             ///< duration of the longest
  std::vector<launch_place_summary> launched_in;  ///< by total time, longest first
};

/// @brief Measured steps with the same set of parts (the scopes directly inside the step, without their indices).
///
/// Statistics over steps of different kinds say little: one step of validation among 35 training steps turns 46.32 ms +- 0.1 % into 49.22
/// ms
/// +- 12.4 %. The kind with at least half of the measured steps is the usual one. Without scopes in the steps there is one kind.
struct step_kind_summary {
  std::string name;                          ///< "usual", "step 40", "9 steps with optimizer"; "other" for all beyond the bound on kinds
  bool is_usual = false;                     ///< at least half of the measured steps; no kind may be
  std::vector<std::string> parts;            ///< names of the scopes directly inside the steps, in the order of first appearance
  std::uint64_t steps = 0;                   ///< number of measured steps of the kind
  std::uint64_t gpu_steps = 0;               ///< of these, steps with kernels collected
  step_summary times;                        ///< statistics and verdicts of these steps alone
  std::optional<budget_summary> budget;      ///< n/a if kernels were not collected
  std::vector<kind_scope_summary> scopes;    ///< rows with a scope in these steps, in the order of `summary::scopes`
  std::vector<kind_kernel_summary> kernels;  ///< by total time, longest first; empty if kernels were not collected
};

/// @brief One step in the list of steps of a short session.
struct listed_step {
  std::uint64_t index = 0;          ///< `step_record::index`
  bool is_warmup = false;           ///< takes part in no statistics
  bool is_excluded = false;         ///< `step::exclude`
  std::optional<std::size_t> kind;  ///< position in `summary::kinds`; n/a for steps that are not measured
  milliseconds host{};              ///< host time
  std::optional<milliseconds> gpu;  ///< GPU step time (`step_time_summary::basis`); n/a if it was not measured
};

}  // namespace profkit
