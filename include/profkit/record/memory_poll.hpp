// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"

namespace profkit {

/// An allocator that does not say what it gives, and can be asked how much that is: at both ends of every scope while a session runs.
struct polled_allocator {
  site* source = nullptr;                       ///< has the name of the memory source; lives as long as the program
  std::uint64_t (*level)() noexcept = nullptr;  ///< in bytes; called from any thread, also shortly after the session has ended
};

namespace detail {

inline constexpr int most_polled_allocators = 8;
inline polled_allocator polled_allocators[most_polled_allocators] = {};

/// `recorder_state::poll_memory`. @param now when the scope ended; 0: it is about to begin.
inline void poll_allocators(std::uint64_t now) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return;
  thread_log* const log = log_of_this_thread();
  if (log == nullptr) return;
  for (polled_allocator const& each : polled_allocators) {
    site* const source = __atomic_load_n(&each.source, __ATOMIC_ACQUIRE);
    if (source == nullptr) return;
    std::uint64_t const bytes = each.level();
    if (auto const claimed = log->claim(4)) {
      log->put(claimed, tagged(*source, event_kind::level), now != 0 ? now : ticks(flags), std::uint64_t{0}, bytes);
    }
  }
}

/// @return false if there are as many already.
inline bool start_polling(polled_allocator const& asked) noexcept {
  for (polled_allocator& each : polled_allocators) {
    if (each.source != nullptr) continue;
    each.level = asked.level;
    __atomic_store_n(&each.source, asked.source, __ATOMIC_RELEASE);
    __atomic_store_n(&recorder.poll_memory, &poll_allocators, __ATOMIC_RELEASE);
    __atomic_fetch_or(&recorder.flags, polls_memory, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

/// A scope of another thread may ask for a moment longer.
inline void stop_polling() noexcept {
  __atomic_fetch_and(&recorder.flags, ~polls_memory, __ATOMIC_RELEASE);
  for (polled_allocator& each : polled_allocators) __atomic_store_n(&each.source, static_cast<site*>(nullptr), __ATOMIC_RELEASE);
}

}  // namespace detail
}  // namespace profkit
