// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "gpu/gpu_step_periods.hpp"
#include "memory/scope_memory.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A stretch of a session whose figures can be computed without the rest of the session, and appended to those before it.
///
/// A window owns a stretch of time. Its own records are those whose moment lies in the stretch:
///
/// | record | its moment |
/// |---|---|
/// | step, GPU scope, work | its beginning |
/// | scope | its beginning; in a session without steps its end |
/// | GPU operation | its launch: the middle of the launching call, or without a recorded call its own beginning |
/// | API call | its middle |
/// | GPU time of a step, reading of memory or clocks | the moment of its step |
/// | counter, allocation, sample | its time |
///
/// No border between windows lies inside a step. In a session without steps, a border may lie anywhere.
///
/// Figures that belong to moments (idle time and the budget) cover the stretch itself. They include the operations and calls of all windows
/// that lie in it.
///
/// A window also contains the records of other stretches that its figures depend on. A record in several windows counts only in the window
/// that owns it.
///
/// * Scopes, API calls and operations that overlap the stretch or end when it begins, and operations that run at the same time as its
///   own. Also the calls that launched these operations, the scopes of these calls, and the steps in which calls and scopes began.
/// * Steps that end less than 17 ns before the stretch. Readings of usage at the end of a step may have a time up to 16 ns later.
/// * The next operation after the stretch, with its launching call, because a gap is attributed to the operation that ends it.
/// * The launching calls of each thread directly before and after the stretch, because the time between two close calls is launch-bound.
/// * Scopes that are open when the window is created. Their ends are `timestamp::max()`; on each thread, inner scopes come before outer
///   ones.
/// * The state of the allocators at its beginning (`memory`).
///
/// All operations launched in the stretch have arrived, and all operations that begin before them are complete. Both determine when the
/// devices did the work of its steps. The tables (paths, threads, names, allocators) are complete, or the beginning of the session's tables
/// that its records refer to; positions are equal in all windows. Single values (environment, collectors, quality) are those at the end of
/// the stretch.
struct window_frame {
  interval own;  ///< the stretch, without its end

  bool has_steps = false;  ///< the session has a step, in this stretch or elsewhere

  std::optional<std::uint32_t> steps_thread;  ///< position of the step thread in `profile::threads`; the same in all windows

  /// @brief The GPU periods of its own steps with kernels collected; positions refer to `records`. They depend on the completion of earlier
  /// work and on later operations that begin before it. The caller that cuts the session knows both; a window need not contain them.
  detail::gpu_step_periods gpu_steps;

  /// @brief The parts of the GPU periods of all measured steps that lie in the stretch, also of steps of earlier stretches. Disjoint, in
  /// time order.
  detail::own_vector<detail::gpu_wall_part> gpu_wall;

  detail::memory_before memory;  ///< at the beginning of the stretch
};

/// @brief A window with its records.
struct window {
  profile records;     ///< records of the stretch, and others that its figures depend on
  window_frame frame;  ///< the stretch, and figures from outside it
};

}  // namespace PROFKIT_NAMESPACE
