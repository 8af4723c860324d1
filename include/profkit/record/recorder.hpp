// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "thread_log.hpp"
#include "thread_pointer.hpp"
#include "ticks.hpp"
#include "wrong_end.hpp"

namespace profkit {

class profile_builder;

namespace detail {

/// Bits of `recorder_state::flags`.
inline constexpr std::uint32_t recording = 1;            ///< a session runs
inline constexpr std::uint32_t nvtx_attached = 2;        ///< a tool listens to NVTX; never taken back
inline constexpr std::uint32_t has_listener = 4;         ///< `before_change` is to be called
inline constexpr std::uint32_t use_monotonic_clock = 8;  ///< the counter of this processor does not tick evenly
inline constexpr std::uint32_t polls_memory = 16;        ///< `poll_memory` is to be called

/// The flags that a scope began with and that its end has to know, kept in its word.
inline constexpr open_scope_word flags_for_end = nvtx_attached | has_listener;
static_assert(flags_for_end < one_deeper && (flags_for_end & is_deep) == 0);

/// Something that records beside the logs and is drained with them.
struct side_log {
  /// `max_ns` of `drain`: the session ends, take what can be had within a short wait.
  static constexpr std::int64_t until_the_end = -1;

  /// Moves what is complete into the profile, for about so many nanoseconds.
  void (*drain)(profile_builder& into, std::int64_t max_ns);
  /// Forgets what earlier sessions left.
  void (*reset)();
  /// When the oldest scope began that `drain` has not moved; the largest number if there is none.
  std::int64_t (*oldest_ns)();
  side_log* next = nullptr;
};

/// A shared library whose scopes go to a recorder of its own.
struct other_recorder {
  char const* library = nullptr;  ///< its path
  other_recorder* next = nullptr;
};

/// All that the shared libraries of a process share. Constant initialised and never destroyed, so that scopes work in static
/// initialisation and destruction; no locks, so that it is whole after `fork`.
struct recorder_state {
  std::uint32_t flags;
  std::uint32_t session;  ///< number of the running or last session, from 1
  std::uint64_t step;     ///< number of the current step; the payload of NVTX ranges
  lost_events lost;       ///< beside what the logs count

  /// A scope begins while `flags` is neither 0 nor `recording` alone, or while its log is busy, may be full or is not there.
  /// @param payload of the event, if its kind has one.
  open_scope_word (*enter)(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept;
  /// A scope ends while `flags` is not `recording` alone, or is not the innermost one of its thread. @param now in ticks; 0: read the
  /// clock.
  void (*leave)(open_scope_word open, std::uint64_t now) noexcept;

  void (*nvtx_push)(site& where, std::int64_t const* index) noexcept;
  void (*nvtx_push_node)(scope_node& where) noexcept;  ///< the range of a scope that was adopted
  std::uint64_t (*nvtx_start)(site& where) noexcept;   ///< a range of the process, not of a thread; gives its number
  void (*nvtx_end)(std::uint64_t number) noexcept;
  void (*before_change)() noexcept;                 ///< a scope of this thread is about to begin or to end
  void (*poll_memory)(std::uint64_t now) noexcept;  ///< the same, later; `now`: when the scope ended, 0: it is about to begin
  thread_log* (*attach_thread)() noexcept;
  std::intptr_t thread_offset;  ///< see `place_thread_states`; 0: there was no session yet

  thread_log* logs;        ///< every log ever made
  side_log* side_logs;     ///< every side log ever made
  other_recorder* others;  ///< libraries that do not share this one
  void const* owner;       ///< the running session

  wrong_end_list wrong_ends;
};

/// What each thread has of its own.
struct this_thread_state {
  thread_log* log;    ///< null: it has recorded nothing yet, or has ended
  bool is_attaching;  ///< `log` is being made
  bool has_ended;     ///< but for what its last functions do: scopes there are counted and not recorded
};

// The name carries the layout: libraries built with another layout get a recorder of their own instead of a corrupt one.
inline namespace layout_8 {

__attribute__((visibility("default"))) inline recorder_state recorder{};

}  // namespace layout_8

/// Of `recorder`, as the dynamic linker knows it.
inline constexpr char const* recorder_symbol = "_ZN7profkit6detail8layout_88recorderE";

/// Where the state of each thread lies, from its thread pointer: in the static TLS block of the module that made the first session, so it
/// is the same for all threads and all modules. They find it by this number, for an executable that exports a symbol of thread-local
/// storage crashes before `main` if it is linked with `-static-pie`. Must have the storage of the module that calls it.
inline void place_thread_states(this_thread_state& of_this_thread) noexcept {
  if (__atomic_load_n(&recorder.thread_offset, __ATOMIC_RELAXED) != 0) return;
  auto const offset = reinterpret_cast<std::intptr_t>(&of_this_thread) - thread_pointer();
  __atomic_store_n(&recorder.thread_offset, offset, __ATOMIC_RELEASE);
}

/// Only once `place_thread_states` was called.
[[nodiscard]] inline this_thread_state& this_thread() noexcept {
  return *reinterpret_cast<this_thread_state*>(thread_pointer() + __atomic_load_n(&recorder.thread_offset, __ATOMIC_RELAXED));
}

/// The log of this thread, null if it has none. At any time.
[[nodiscard]] inline thread_log* this_thread_log() noexcept {
  return __atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) == 0 ? nullptr : this_thread().log;
}

[[nodiscard]] inline std::uint64_t ticks(std::uint32_t flags) noexcept {
  return __builtin_expect((flags & use_monotonic_clock) != 0, 0) ? monotonic_ticks() : counter_ticks();
}

/// Waits for the clock to tick (on x86 it has, by the next reading; on Arm it may take 40 ns): what the thread recorded before lies before
/// it.
[[nodiscard]] inline std::uint64_t next_tick(std::uint32_t flags) noexcept {
  std::uint64_t const last = ticks(flags);
  std::uint64_t now = last;
  while (now == last) now = ticks(flags);
  return now;
}

/// For slow paths: a thread that saw a flag by a relaxed load need not see what was installed before the flag was set.
[[nodiscard]] inline std::uint32_t flags_with_what_is_installed() noexcept { return __atomic_load_n(&recorder.flags, __ATOMIC_ACQUIRE); }

/// `recorder_state::enter`.
inline open_scope_word enter_slow_path(site& where, event_kind kind, std::uint64_t payload) noexcept {
  std::uint32_t const flags = flags_with_what_is_installed();
  return __atomic_load_n(&recorder.enter, __ATOMIC_RELAXED)(flags, where, kind, payload);
}

/// `recorder_state::leave`.
inline void leave_slow_path(open_scope_word open, std::uint64_t now) noexcept {
  static_cast<void>(flags_with_what_is_installed());
  __atomic_load_n(&recorder.leave, __ATOMIC_RELAXED)(open, now);
}

/// The log of this thread, attached if need be; null if it can have none.
[[nodiscard]] inline thread_log* log_of_this_thread() noexcept {
  thread_log* const log = this_thread_log();
  if (__builtin_expect(log != nullptr, 1)) return log;
  static_cast<void>(flags_with_what_is_installed());
  return __atomic_load_n(&recorder.attach_thread, __ATOMIC_RELAXED)();
}

[[nodiscard]] inline std::uint64_t tagged(site& where, event_kind kind) noexcept {
  return reinterpret_cast<std::uint64_t>(&where) + static_cast<std::uint64_t>(kind);
}

}  // namespace detail
}  // namespace profkit
