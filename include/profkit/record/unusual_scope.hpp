// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

// What a scope does where something is unusual: a thread's first scope, a full log, NVTX, a listener, another clock. Behind two functions
// of the recorder, so that the code which has scopes stays small.

namespace profkit::detail {

/// @param now when the scope ended; 0: it is about to begin.
inline void tell_listeners(std::uint32_t flags, std::uint64_t now) noexcept {
  if ((flags & has_listener) != 0) {
    auto const function = __atomic_load_n(&recorder.before_change, __ATOMIC_ACQUIRE);
    if (function != nullptr) function();
  }
  if ((flags & polls_memory) != 0) recorder.poll_memory(now);
}

/// Records the beginning of a scope that listeners know of. `what` and `payload` as in `thread_log::put`.
/// @return 0 if it was not recorded.
inline open_scope_word record_enter(std::uint32_t flags, std::uint64_t what, std::uint64_t payload, std::uint64_t now) noexcept {
  if ((flags & recording) == 0) return 0;
  thread_log* const log = log_of_this_thread();
  auto const kind = static_cast<event_kind>(what & event_kind_bits);
  bool const has_payload = kind != event_kind::enter && kind != event_kind::enter_step;
  if (log == nullptr || !log->reserve(has_payload ? 4 : 3)) return 0;
  if (has_payload) {
    log->put(what, now, payload);
  } else {
    log->put(what, now);
  }
  log->opened(what, payload);
  return reinterpret_cast<open_scope_word>(log);
}

/// The same, now.
inline open_scope_word record_enter(std::uint32_t flags, std::uint64_t what, std::uint64_t payload) noexcept {
  // First of all: making the log takes no time of the scope's.
  if ((flags & recording) == 0 || log_of_this_thread() == nullptr) return 0;
  return record_enter(flags, what, payload, ticks(flags));
}

/// `recorder_state::enter` where no tool listens to NVTX.
inline open_scope_word enter_unusual(std::uint32_t flags, site& where, event_kind kind, std::uint64_t payload) noexcept {
  tell_listeners(flags, 0);
  return record_enter(flags, tagged(where, kind), payload) | (flags & has_listener);
}

/// `recorder_state::leave` where no tool listens to NVTX.
inline void leave_unusual(open_scope_word open, std::uint64_t now) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if (now == 0) now = ticks(flags);
  tell_listeners(flags, now);
  open_scope_word const log = open & ~flags_for_end;
  if (log != 0) reinterpret_cast<thread_log*>(log)->close(now);
}

/// To be called before a bit of `recorder_state::flags` is set.
inline void install_unusual_scopes() noexcept {
  if (recorder.enter != nullptr) return;
  recorder.leave = leave_unusual;
  recorder.enter = enter_unusual;
}

}  // namespace profkit::detail
