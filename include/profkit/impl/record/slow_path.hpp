// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "library_pin.hpp"
#include "quiet_thread.hpp"
#include "recorder.hpp"

// The slow path of scopes: the first scope of a thread, a full log, a signal handler, a wrong end, NVTX, a listener, another clock. It is
// called through two function pointers of the recorder, so that measured code stays small.

namespace PROFKIT_NAMESPACE::detail {

/// Calls the listener and the memory poll, unless one of them opened the scope. @param now end of the scope in ticks; 0: a scope is about
/// to begin.
inline void tell_listeners(std::uint32_t flags, std::uint64_t now) noexcept {
  if ((flags & (prepares_threads | has_listener | polls_memory)) == 0 || is_quiet()) return;
  if ((flags & prepares_threads) != 0 && now == 0 && this_thread_log() != nullptr)
    __atomic_load_n(&recorder.attach_thread, __ATOMIC_RELAXED)();
  if ((flags & has_listener) != 0) {
    auto const function = __atomic_load_n(&recorder.before_change, __ATOMIC_ACQUIRE);
    foreign_call const call;
    if (function != nullptr) function();
  }
  if ((flags & polls_memory) != 0) {
    auto const function = __atomic_load_n(&recorder.poll_memory, __ATOMIC_ACQUIRE);
    if (function != nullptr) function(now);
  }
}

/// Records the beginning of a scope, after the listeners were called. `what` and `payload` as in `thread_log::open`.
/// @param now time in ticks; 0: read the clock when the log is ready.
/// @return 0 if it was not recorded.
inline open_scope_word record_enter(std::uint32_t flags, std::uint64_t what, std::uint64_t payload, std::uint64_t now = 0) noexcept {
  thread_log* const log = (flags & recording) != 0 ? log_of_this_thread() : nullptr;
  if (log == nullptr) return 0;
  auto const kind = static_cast<event_kind>(what & event_kind_bits);
  bool const has_payload = kind != event_kind::enter && kind != event_kind::enter_step;
  open_scope_word const claimed = log->claim(has_payload ? 4 : 3);
  if (claimed == 0) return 0;
  if (now == 0) now = ticks(flags);
  return has_payload ? log->open(claimed, what, now, payload) : log->open(claimed, what, now);
}

/// Retires the log of this thread, because a signal handler interrupted a write and jumped out of it (`siglongjmp`). Published events are
/// complete. The next scope gets another log.
inline void abandon_log_of_this_thread() noexcept {
  thread_log* const log = this_thread().log;
  this_thread().log = nullptr;
  __atomic_store_n(&log->is_broken, true, __ATOMIC_RELAXED);
  __atomic_store_n(&log->state, std::uint32_t{log_left}, __ATOMIC_RELEASE);
}

/// Counts the scopes that are still open inside the scope that ends at `depth`.
inline void count_scopes_left_inside(thread_log const& log, std::uint64_t depth) noexcept {
  for (std::uint64_t inner = log.depth(); inner > depth; --inner) {
    if (site const* const where = log.site_at(inner)) recorder.wrong_ends.count(wrong_end_kind::never, where, log.site_at(depth));
  }
}

/// Counts the end of a scope that is not open on this thread.
inline void count_unmatched_end(open_scope_word open, thread_log const* log) noexcept {
  lost_events::count(recorder.lost.unmatched_ends);
  auto const* const its_log = reinterpret_cast<thread_log const*>(log_address_of(open));
  site const* const innermost = log != nullptr && !log->is_busy() ? log->site_at(log->depth()) : nullptr;
  recorder.wrong_ends.count(its_log == log ? wrong_end_kind::after_another : wrong_end_kind::on_another_thread,
                            its_log->site_at(thread_log::shown_depth(open)), innermost);
}

/// Records the end of a scope or call, after the listeners were called. If the scope is not open on this thread, the end is counted and not
/// recorded: its log belongs to another thread, or an outer scope has ended.
/// @return the number of scopes and calls that end, including inner ones that were left without their destructors.
inline std::uint64_t record_leave(open_scope_word open, std::uint64_t now) noexcept {
  thread_log* const log = this_thread_log();
  bool const is_of_this_thread = log != nullptr && reinterpret_cast<open_scope_word>(log) == log_address_of(open);
  // Scopes in a signal handler end before it returns, so an end never interrupts the writer.
  if (is_of_this_thread && log->is_busy()) {
    abandon_log_of_this_thread();
    lost_events::count(recorder.lost.unmatched_ends);
    return 0;
  }
  if (is_of_this_thread && log->depth() > log->depth_of_word(open)) count_scopes_left_inside(*log, log->depth_of_word(open));
  std::uint64_t const ended = is_of_this_thread ? log->leave(open, now) : 0;
  if (ended == 0) count_unmatched_end(open, log);
  return ended;
}

/// `recorder_state::enter` if no tool listens to NVTX.
inline open_scope_word begin_on_slow_path(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept {
  if (is_quiet()) return 0;
  tell_listeners(flags, 0);
  return record_enter(flags, tagged(where, kind), payload) | (flags & has_listener);
}

/// Calls the listeners and records the end of a scope.
/// @param now time in ticks; 0: read the clock.
/// @return the result of `record_leave`; 1 if the scope is in no log.
inline std::uint64_t leave_with_listeners(open_scope_word open, std::uint64_t now) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if (now == 0) now = ticks(flags);
  tell_listeners(flags, now);
  return log_address_of(open) != 0 ? record_leave(open, now) : 1;
}

/// `recorder_state::leave` if no tool listens to NVTX.
inline void end_on_slow_path(open_scope_word open, std::uint64_t now) noexcept { static_cast<void>(leave_with_listeners(open, now)); }

/// Installs the slow path. To be called before a bit of `recorder_state::flags` is set.
inline void install_slow_path() noexcept {
  place_thread_states();
  if (__atomic_load_n(&recorder.enter, __ATOMIC_ACQUIRE) != nullptr) return;
  __atomic_store_n(&recorder.leave, &end_on_slow_path, __ATOMIC_RELEASE);
  __atomic_store_n(&recorder.enter, &begin_on_slow_path, __ATOMIC_RELEASE);
}

/// Records that this thread enters an API call that launches GPU operations or waits for a device. The event is in the log between the
/// events of scopes. So the order of events, and not clocks, determines which scopes are open.
/// @return the argument of `end_api_call`; 0 if the call was not recorded.
inline open_scope_word begin_api_call(site& where, std::uint64_t correlation) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  return record_enter(flags, tagged(where, event_kind::begin_call), correlation);
}

/// Records that the call returns. To be called on the thread of `begin_api_call`.
inline void end_api_call(open_scope_word call) noexcept {
  if (call != 0) record_leave(call, ticks(__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED)));
}

}  // namespace PROFKIT_NAMESPACE::detail
