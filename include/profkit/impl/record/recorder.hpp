// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../profile/library_abi.hpp"  // declares profile_builder
#include "log_event.hpp"
#include "thread_log.hpp"
#include "ticks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The ways in which the end of a scope can be wrong.
enum class wrong_end_kind : std::uint32_t {
  on_another_thread,  ///< it ended on another thread
  after_another,      ///< an outer scope had ended before
  never,              ///< an outer scope ended while it was open
};

/// A source location whose scopes ended wrongly, and the other scope involved.
struct wrong_end {
  std::uint32_t state;  ///< 0: free, 1: being written, 2: complete
  wrong_end_kind kind;
  site const* where;  ///< null: unknown
  site const* other;  ///< the innermost open scope of the thread, or the one that ended instead; null: unknown
  std::uint64_t count;
};

/// The first wrong ends. Lock-free and safe in signal handlers. Two threads that count the same location at the same time may use two
/// entries.
struct wrong_end_list {
  static constexpr int size = 16;

  wrong_end entries[size];

  /// Counts that happen at the same time may be lost.
  void clear() noexcept {
    for (wrong_end& each : entries) __atomic_store_n(&each.state, std::uint32_t{0}, __ATOMIC_RELEASE);
  }

  void count(wrong_end_kind kind, site const* where, site const* other) noexcept {
    for (wrong_end& each : entries) {
      std::uint32_t state = __atomic_load_n(&each.state, __ATOMIC_ACQUIRE);
      if (state == 0 && __atomic_compare_exchange_n(&each.state, &state, std::uint32_t{1}, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        each.kind = kind;
        each.where = where;
        each.other = other;
        __atomic_store_n(&each.count, std::uint64_t{1}, __ATOMIC_RELAXED);
        __atomic_store_n(&each.state, std::uint32_t{2}, __ATOMIC_RELEASE);
        return;
      }
      if (state == 2 && each.kind == kind && each.where == where && each.other == other) {
        __atomic_fetch_add(&each.count, 1, __ATOMIC_RELAXED);
        return;
      }
    }
  }
};

/// The thread pointer of the running thread, from which static thread-local storage has fixed offsets. It is read on each call, because a
/// coroutine may have resumed on another thread.
[[nodiscard]] inline std::intptr_t thread_pointer() noexcept {
#if defined(__x86_64__)
  std::intptr_t value = 0;
  asm volatile("mov %%fs:0, %0" : "=r"(value));
  return value;
#elif defined(__aarch64__)
  std::intptr_t value = 0;
  asm volatile("mrs %0, tpidr_el0" : "=r"(value));
  return value;
#else
  return reinterpret_cast<std::intptr_t>(__builtin_thread_pointer());
#endif
}

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

/// A log of another kind, such as the log of GPU scopes.
struct side_log {
  /// Value for `max_ns` of `poll` at the end of the session: waits shortly for what is not complete.
  static constexpr std::int64_t until_the_end = -1;

  /// Asks whether records are complete, for about `max_ns` nanoseconds. Called on the step thread between steps, and at the end of the
  /// session on the session's thread.
  void (*poll)(std::int64_t max_ns);
  /// Moves complete records to the profile. Called on the session's thread, like the functions below. @param last the session ends.
  void (*drain)(profile_builder& into, bool last);
  /// Discards records of earlier sessions, and sets `untimed` to 0.
  void (*reset)();
  /// The beginning of the oldest scope that `drain` has not moved; the maximum value if there is none.
  std::int64_t (*oldest_ns)();
  char const* version;    ///< of the code of `drain`: a session of another version has another `profile_builder`
  std::uint64_t untimed;  ///< number of scopes without a time, since `reset`
  side_log* next;
};

/// A module of the process, such as a shared library, that has its own recorder.
struct other_recorder {
  void const* recorder = nullptr;
  other_recorder* next = nullptr;
  char path[1] = {};  ///< path of the module, with as many bytes as it has
};

/// The page that identifies a process: see `process_identity.hpp`.
struct process_mark {
  std::uint64_t number;  ///< number of the process; reads as 0 in a child
  std::int64_t unwiped;  ///< `getpid` if the kernel does not clear the page in a child; 0: it does
};

/// The state that all shared libraries of a process share. Constant-initialised and never destroyed, so scopes work during static
/// initialisation and destruction. Lock-free, so it is consistent after `fork`.
///
/// The members that scopes read are in the first cache line.
struct alignas(64) recorder_state {
  std::uint32_t flags;
  std::uint32_t session;        ///< number of the running or last session, from 1
  std::intptr_t thread_offset;  ///< see `place_thread_states`; 0: no session and no listener yet

  /// Begins a scope if `flags` is neither 0 nor `recording` alone, or if its log is busy, may be full, or does not exist.
  /// @param payload payload of the event, if its kind has one.
  open_scope_word (*enter)(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept;
  /// Ends a scope if `flags` is not `recording` alone, or if the scope is not the innermost one of its thread. @param now time in ticks; 0:
  /// read the clock.
  void (*leave)(open_scope_word open, std::uint64_t now) noexcept;
  thread_log* (*attach_thread)() noexcept;
  void (*before_change)() noexcept;                 ///< called before a scope of this thread begins or ends
  void (*poll_memory)(std::uint64_t now) noexcept;  ///< called after `before_change`; `now`: end of the scope; 0: a scope is about to begin
  std::uint64_t step;                               ///< number of the current step; the payload of NVTX ranges

  void (*nvtx_push)(site& where, std::int64_t const* index) noexcept;
  void (*nvtx_push_node)(scope_node& where) noexcept;  ///< begins the range of an adopting scope
  std::uint64_t (*nvtx_start)(site& where) noexcept;   ///< begins a process range; returns its number
  void (*nvtx_end)(std::uint64_t number) noexcept;

  lost_events lost;        ///< in addition to the events that the logs count
  thread_log* logs;        ///< list of all logs
  side_log* side_logs;     ///< list of all side logs
  other_recorder* others;  ///< modules that have their own recorder
  void const* owner;       ///< the running session
  char const* version;     ///< of the code of the running or last session; null: no session yet

  process_mark* mark;            ///< null: no session yet
  process_mark unwiped_mark;     ///< used if the kernel has no page for `mark`
  std::uint64_t process_number;  ///< `process_mark::number` of the last process that recorded: this one or an ancestor

  std::uint32_t exit_mark_offset;  ///< see `is_thread_exiting`; 0: unknown

  wrong_end_list wrong_ends;
};

static_assert(sizeof(void*) != 8 || __builtin_offsetof(recorder_state, step) == 56, "the first cache line has all that scopes read");

/// The state of each thread.
struct this_thread_state {
  thread_log* log;        ///< null: nothing recorded yet, the thread is quiet, or it has ended
  thread_log* quiet_log;  ///< the log of a quiet thread
  std::uintptr_t quiet;   ///< see `quiet_thread`; 0: the thread records
  bool is_attaching;      ///< `log` is being created
  bool has_ended;         ///< the thread runs its last destructors: scopes are counted but not recorded
};

}  // namespace PROFKIT_NAMESPACE::detail

// What all versions of profkit share. Each version has its own types for it, with one layout: `recorder_state`, what it points to, the
// events of logs (`log_event.hpp`) and what they point to, `scope_node_table`. The namespace names the layout, so that a library built with
// another layout gets its own recorder instead of a corrupt one.
namespace profkit::layout_13 {

#if !defined(PROFKIT_DISABLE) && !defined(__CUDACC__)
[[gnu::used]]  // by `library_pin.hpp`
#endif
__attribute__((visibility("default"))) inline detail::recorder_state recorder{};

}  // namespace profkit::layout_13

namespace PROFKIT_NAMESPACE::detail {

using layout_13::recorder;

/// The storage for `place_thread_states`: one per module, in the static TLS block. (nvcc does not support the attribute.)
#ifndef __CUDACC__
__attribute__((tls_model("initial-exec")))
#endif
__attribute__((visibility("hidden"))) inline thread_local this_thread_state thread_state_of_this_module{};

/// Stores the offset of the thread state from the thread pointer. The state is in the static TLS block of the module that calls this
/// function first, so the offset is the same for all threads and modules. An offset is used instead of a symbol, because an executable that
/// exports a thread-local symbol crashes before `main` if it is linked with `-static-pie`. To be called before a bit of
/// `recorder_state::flags` is set.
inline void place_thread_states() noexcept {
  if (__atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) != 0) return;
  std::intptr_t none = 0;
  auto const offset = reinterpret_cast<std::intptr_t>(&thread_state_of_this_module) - thread_pointer();
  __atomic_compare_exchange_n(&recorder.thread_offset, &none, offset, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/// Requires an earlier call of `place_thread_states`.
[[nodiscard]] inline this_thread_state& this_thread() noexcept {
  return *reinterpret_cast<this_thread_state*>(thread_pointer() + __atomic_load_n(&recorder.thread_offset, __ATOMIC_RELAXED));
}

/// The log to which this thread writes, or null. May be called at any time.
[[nodiscard]] inline thread_log* this_thread_log() noexcept {
  return __atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) == 0 ? nullptr : this_thread().log;
}

/// The log of this thread, or null, also while the thread is quiet: contains its open scopes. May be called at any time.
[[nodiscard]] inline thread_log* this_thread_scopes() noexcept {
  if (__atomic_load_n(&recorder.thread_offset, __ATOMIC_ACQUIRE) == 0) return nullptr;
  this_thread_state const& state = this_thread();
  return state.log != nullptr ? state.log : state.quiet_log;
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

/// Whether the running or last session has the code of this version.
[[nodiscard]] inline bool is_session_of_this_version() noexcept {
  char const* const of_session = __atomic_load_n(&recorder.version, __ATOMIC_ACQUIRE);
  return of_session != nullptr && __builtin_strcmp(of_session, version) == 0;
}

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

}  // namespace PROFKIT_NAMESPACE::detail
