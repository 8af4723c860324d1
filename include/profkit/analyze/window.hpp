// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "gpu/gpu_step_windows.hpp"
#include "memory/memory_before.hpp"

namespace profkit {

/// @brief A stretch of a session whose figures can be computed without the rest of it, and added to those of other stretches.
///
/// A window owns a stretch of time. Its own records are those whose moment lies in the stretch:
///
/// | record | its moment |
/// |---|---|
/// | step, GPU scope, work | its beginning |
/// | scope | its beginning; in a session without steps its end |
/// | GPU operation | its launch (the middle of the launching call; its own beginning where the call was not recorded) |
/// | API call | its middle |
/// | GPU time of a step, reading of memory or clocks | that of its step |
/// | counter, allocation | its time |
///
/// A border between windows lies in no step. In a session without steps it may lie anywhere.
///
/// What adds up by moments (idle time and the budget) is that of the stretch itself: of the operations and the calls of all windows, what
/// lies in it.
///
/// Beside its own records a window has those of other stretches on which its figures depend. A record that is in several windows is
/// counted in the one that owns it.
///
/// * Scopes, API calls and operations of which a part lies in the stretch, or which end when it begins, and operations that run at the same
///   time as its own; with the calls that launched these operations, the scopes of these calls, and the steps in which calls and scopes
///   began.
/// * The steps that end less than 17 ns before the stretch. Levels that are read at the end of a step may have a time up to 16 ns later.
/// * The operation that begins next after the stretch, with its launching call. What ends an idle stretch tells whose doing it was.
/// * The launching calls of each thread that come directly before and after the stretch. A thread is launching between two calls that
///   follow each other closely.
/// * Scopes that are still open when the window is made. Their ends are `timestamp::max()`; on each thread, inner ones come before those
///   around them.
/// * The state of the allocators when it begins (`memory`).
///
/// All operations that were launched in the stretch have arrived, and all that begin before its own are complete: these decide when the
/// devices did the work of its steps. The tables (paths, threads, names, allocators) are whole, or the
/// beginning of the session's tables that its records refer to; positions do not change from window to window. What a profile has once
/// (environment, collectors, quality) is as it was at the end of the stretch.
struct window_frame {
  interval own;  ///< its end is not in it

  bool has_steps = false;  ///< a step was made in the session, in this stretch or before or after it

  std::optional<std::uint32_t> steps_thread;  ///< that ran the steps, as a position in `profile::threads`; the same in all windows

  /// When the devices did the work of its own steps in which kernels were collected; positions are those in `records`. They depend on when
  /// all earlier work was complete, and on later operations that begin before that. Whoever cuts a session knows both; a window does not
  /// have to hold them.
  detail::gpu_step_windows gpu_steps;

  /// What lies in the stretch of the devices' windows of all measured steps, its own and earlier ones. Disjoint, in the order of time.
  std::vector<interval> gpu_wall;

  detail::memory_before memory;  ///< when the stretch begins
};

/// @brief A window with the records that it has.
struct window {
  profile records;
  window_frame frame;
};

}  // namespace profkit
