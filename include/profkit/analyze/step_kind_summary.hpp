// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "../profile/own_memory.hpp"
#include "../profile/time.hpp"
#include "budget_summary.hpp"
#include "step_summary.hpp"

namespace profkit {

/// @brief Times of one row of `summary::scopes` in the steps of one kind. All are sums over these steps; divide by
/// `step_kind_summary::steps` (host) or `budget_summary::steps` (GPU) for a mean per step.
///
/// Scope time is `busy` plus `idle`: each moment of `budget_summary::wall` counts once, in the innermost scope that it is charged to. So
/// the time of a scope is the sum of its `self` and the times of its children. The times of the roots and `step_kind_summary::outside` add
/// up to the wall time.
struct kind_scope_summary {
  std::size_t scope = 0;                  ///< position in `summary::scopes`
  std::uint64_t count = 0;                ///< number of scopes
  milliseconds host{};                    ///< host time
  std::optional<milliseconds> busy;       ///< GPU busy time charged to the scopes or to scopes inside; n/a if kernels were not collected
  std::optional<milliseconds> busy_self;  ///< the part charged to the scopes themselves
  std::optional<milliseconds> idle;       ///< GPU idle time, like `busy`
  std::optional<milliseconds> idle_self;  ///< the part charged to the scopes themselves
};

/// @brief The executions of one kernel that were launched in one scope.
struct launch_place_summary {
  std::optional<std::size_t> scope;  ///< position in `summary::scopes`; n/a: outside any scope
  std::uint64_t count = 0;           ///< number of executions
  milliseconds total{};              ///< sum of their durations
};

/// @brief The executions of one kernel in the steps of one kind.
struct kind_kernel_summary {
  std::size_t kernel = 0;                                ///< position in `gpu_summary::kernels`
  std::uint64_t count = 0;                               ///< number of executions
  milliseconds total{};                                  ///< sum of their durations
  milliseconds min{};                                    ///< duration of the shortest
  milliseconds max{};                                    ///< duration of the longest
  detail::own_vector<launch_place_summary> launched_in;  ///< by total time, longest first
};

/// @brief The measured steps with the same set of parts. Parts are the scopes directly inside the step on its thread, without their
/// indices.
///
/// Statistics over steps of different kinds mislead: one validation step among 35 training steps turns 46.32 ms +- 0.1 % into 49.22 ms +-
/// 12.4 %. All steps without scopes inside are of one kind.
///
/// An analysis distinguishes the 16 kinds that occur first. Steps of further kinds count as one kind, "other".
struct step_kind_summary {
  std::string name;                       ///< "usual", "step 40", "9 steps with optimizer", "other"
  bool is_usual = false;                  ///< the kind has at least half of the measured steps; there may be no such kind
  detail::own_vector<std::string> parts;  ///< in the order of their first appearance; empty for "other"
  std::uint64_t steps = 0;                ///< number of measured steps of the kind
  std::uint64_t gpu_steps = 0;            ///< number of these steps with kernels collected
  /// @brief Times, verdicts and items of these steps alone. `step_time` has the same basis as in `summary::steps` if that was measured for
  /// the kind. Excludes warm-up, `clocks`, `stop` and the number of steps by which the host ran ahead: see `summary::steps`.
  step_summary times;
  std::optional<budget_summary> budget;           ///< its wall time has the basis of `summary::budget`; n/a if kernels were not collected
  detail::own_vector<kind_scope_summary> scopes;  ///< rows with a scope or with GPU time in these steps, in the order of `summary::scopes`
  std::optional<milliseconds> outside;            ///< part of `budget_summary::wall` that is charged to no scope; n/a without `budget`
  detail::own_vector<kind_kernel_summary> kernels;  ///< by total time, longest first; empty if kernels were not collected
};

/// @brief One step of `summary::listed_steps`.
///
/// The list has at most 4,096 measured steps, 1,024 warm-up steps and 1,024 excluded ones. If a session has more, or more than 65,536 steps
/// in all, the list has one of each 2, 4, 8, ... neighbouring steps, chosen at random.
struct listed_step {
  std::uint64_t index = 0;          ///< `step_record::index`
  bool is_warmup = false;           ///< excluded from all statistics
  bool is_excluded = false;         ///< `step::exclude`; excluded from all statistics
  std::optional<std::size_t> kind;  ///< position in `summary::kinds`; n/a for steps that are not measured
  milliseconds host{};              ///< host time
  std::optional<milliseconds> gpu;  ///< between CUDA events, else the GPU period; n/a if neither is known
};

}  // namespace profkit
