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
inline constexpr std::uint32_t nvtx_attached = 2;        ///< a tool listens to NVTX; never cleared
inline constexpr std::uint32_t has_listener = 4;         ///< `before_change` must be called
inline constexpr std::uint32_t use_monotonic_clock = 8;  ///< the time-stamp counter is not invariant
inline constexpr std::uint32_t polls_memory = 16;        ///< `poll_memory` must be called
inline constexpr std::uint32_t prepares_threads = 32;    ///< threads with logs must call `attach_thread` again

/// The flags at the beginning of a scope that its end needs; stored in the word of the scope.
inline constexpr open_scope_word flags_for_end = nvtx_attached | has_listener;
static_assert(flags_for_end < one_deeper && (flags_for_end & is_deep) == 0);

/// A log of another kind, such as the log of GPU scopes. It is drained together with the thread logs.
struct side_log {
  /// Value for `max_ns` of `drain` at the end of the session: drain everything, with a short wait.
  static constexpr std::int64_t until_the_end = -1;

  /// Moves complete records to the profile, for about `max_ns` nanoseconds.
  void (*drain)(profile_builder& into, std::int64_t max_ns);
  /// Discards records of earlier sessions.
  void (*reset)();
  /// The beginning of the oldest scope that `drain` has not moved; the maximum value if there is none.
  std::int64_t (*oldest_ns)();
  side_log* next = nullptr;
};

/// A shared library that has its own recorder.
struct other_recorder {
  char const* library = nullptr;  ///< path of the library
  other_recorder* next = nullptr;
};

/// The state that all shared libraries of a process share. Constant-initialised and never destroyed, so scopes work during static
/// initialisation and destruction. Lock-free, so it is consistent after `fork`.
struct recorder_state {
  std::uint32_t flags;
  std::uint32_t session;  ///< number of the running or last session, from 1
  std::uint64_t step;     ///< number of the current step; the payload of NVTX ranges
  lost_events lost;       ///< in addition to the events that the logs count

  /// Begins a scope if `flags` is neither 0 nor `recording` alone, or if its log is busy, may be full, or does not exist.
  /// @param payload payload of the event, if its kind has one.
  open_scope_word (*enter)(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept;
  /// Ends a scope if `flags` is not `recording` alone, or if the scope is not the innermost one of its thread. @param now time in ticks; 0:
  /// read the clock.
  void (*leave)(open_scope_word open, std::uint64_t now) noexcept;

  void (*nvtx_push)(site& where, std::int64_t const* index) noexcept;
  void (*nvtx_push_node)(scope_node& where) noexcept;  ///< begins the range of an adopting scope
  std::uint64_t (*nvtx_start)(site& where) noexcept;   ///< begins a process range; returns its number
  void (*nvtx_end)(std::uint64_t number) noexcept;
  void (*before_change)() noexcept;                 ///< called before a scope of this thread begins or ends
  void (*poll_memory)(std::uint64_t now) noexcept;  ///< called after `before_change`; `now`: end of the scope; 0: a scope is about to begin
  thread_log* (*attach_thread)() noexcept;
  std::intptr_t thread_offset;  ///< see `place_thread_states`; 0: no session yet

  thread_log* logs;        ///< list of all logs
  side_log* side_logs;     ///< list of all side logs
  other_recorder* others;  ///< libraries that have their own recorder
  void const* owner;       ///< the running session

  wrong_end_list wrong_ends;
};

/// The state of each thread.
struct this_thread_state {
  thread_log* log;    ///< null: nothing recorded yet, or the thread has ended
  bool is_attaching;  ///< `log` is being created
  bool has_ended;     ///< the thread runs its last destructors: scopes are counted but not recorded
};

// The namespace names the layout, so that a library built with another layout gets its own recorder instead of a corrupt one.
inline namespace layout_11 {

__attribute__((visibility("default"))) inline recorder_state recorder{};

}  // namespace layout_11

/// The symbol name of `recorder`.
inline constexpr char const* recorder_symbol = "_ZN7profkit6detail9layout_118recorderE";

/// Stores the offset of the thread state from the thread pointer. The state is in the static TLS block of the module that created the first
/// session, so the offset is the same for all threads and modules. An offset is used instead of a symbol, because an executable that
/// exports a thread-local symbol crashes before `main` if it is linked with `-static-pie`.
/// @param of_this_thread the thread state in the calling module.
inline void place_thread_states(this_thread_state& of_this_thread) noexcept {
  if (__atomic_load_n(&recorder.thread_offset, __ATOMIC_RELAXED) != 0) return;
  auto const offset = reinterpret_cast<std::intptr_t>(&of_this_thread) - thread_pointer();
  __atomic_store_n(&recorder.thread_offset, offset, __ATOMIC_RELEASE);
}

/// Requires an earlier call of `place_thread_states`.
[[nodiscard]] inline this_thread_state& this_thread() noexcept {
  return *reinterpret_cast<this_thread_state*>(thread_pointer() + __atomic_load_n(&recorder.thread_offset, __ATOMIC_RELAXED));
}

/// The log of this thread, or null. May be called at any time.
[[nodiscard]] inline thread_log* this_thread_log() noexcept {
  return __atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) == 0 ? nullptr : this_thread().log;
}

[[nodiscard]] inline std::uint64_t ticks(std::uint32_t flags) noexcept {
  return __builtin_expect((flags & use_monotonic_clock) != 0, 0) ? monotonic_ticks() : counter_ticks();
}

/// Waits for the next tick of the clock, so that everything that this thread recorded before has an earlier time. On x86, the next reading
/// already shows a later tick; on Arm, the next tick may take 40 ns.
[[nodiscard]] inline std::uint64_t next_tick(std::uint32_t flags) noexcept {
  std::uint64_t const last = ticks(flags);
  std::uint64_t now = last;
  while (now == last) now = ticks(flags);
  return now;
}

/// For slow paths: reads the flags with acquire order. A thread that saw a flag through a relaxed load may not see the functions that were
/// installed before it.
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

/// The log of this thread, attached if necessary; null if the thread cannot have one.
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
