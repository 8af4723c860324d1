// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

namespace profkit {

/// @brief An allocator without hooks whose memory in use can be queried. It is polled at both ends of every scope while a session runs.
struct polled_allocator {
  site* source = nullptr;                       ///< named like the memory source; must live as long as the program
  std::uint64_t (*usage)() noexcept = nullptr;  ///< returns bytes in use; called on any thread, also shortly after the end of the session
};

namespace detail {

inline constexpr int max_polled_allocators = 8;
inline polled_allocator polled_allocators[max_polled_allocators] = {};

/// The function behind `recorder_state::poll_memory`. @param now the end of the scope in ticks; 0: a scope is about to begin.
inline void poll_allocators(std::uint64_t now) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return;
  thread_log* const log = log_of_this_thread();
  if (log == nullptr) return;
  for (polled_allocator const& each : polled_allocators) {
    site* const source = __atomic_load_n(&each.source, __ATOMIC_ACQUIRE);
    if (source == nullptr) return;
    std::uint64_t const bytes = each.usage();
    if (auto const claimed = log->claim(4)) {
      log->put(claimed, tagged(*source, event_kind::usage), now != 0 ? now : ticks(flags), std::uint64_t{0}, bytes);
    }
  }
}

/// @return false if `max_polled_allocators` are already polled.
inline bool start_polling(polled_allocator const& asked) noexcept {
  for (polled_allocator& each : polled_allocators) {
    if (each.source != nullptr) continue;
    each.usage = asked.usage;
    __atomic_store_n(&each.source, asked.source, __ATOMIC_RELEASE);
    __atomic_store_n(&recorder.poll_memory, &poll_allocators, __ATOMIC_RELEASE);
    __atomic_fetch_or(&recorder.flags, polls_memory, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

/// Scopes on other threads may still poll for a short time.
inline void stop_polling() noexcept {
  __atomic_fetch_and(&recorder.flags, ~polls_memory, __ATOMIC_RELEASE);
  for (polled_allocator& each : polled_allocators) __atomic_store_n(&each.source, static_cast<site*>(nullptr), __ATOMIC_RELEASE);
}

}  // namespace detail
}  // namespace profkit
