// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/record/thread_registry.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

/// The number of logs of this process.
inline std::uint64_t count_logs() {
  std::uint64_t count = 0;
  for (auto const* log = __atomic_load_n(&profkit::detail::recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) ++count;
  return count;
}

/// Whether the session has read all logs. (Reads data that the reader writes, which ThreadSanitizer reports as a race.)
__attribute__((no_sanitize("thread"))) inline bool is_drained() {
  using namespace profkit::detail;
  for (thread_log* log = __atomic_load_n(&recorder.logs, __ATOMIC_ACQUIRE); log != nullptr; log = log->next) {
    std::uint32_t const state = __atomic_load_n(&log->state, __ATOMIC_ACQUIRE);
    if (state == log_left) return false;
    if (state == log_owned && *const_cast<std::uint64_t const* volatile*>(&log->read) != __atomic_load_n(&log->next_slot, __ATOMIC_ACQUIRE))
      return false;
  }
  return true;
}

/// The session's thread drains when it gets a processor. After 10 seconds the test continues, and fails.
inline void wait_for_drain() {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (!is_drained() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}
