// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <span>

#include "loader/fnv.hpp"

namespace trainer {

/// Processor time of this thread.
[[nodiscard]] inline std::chrono::nanoseconds processor_time() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Hashes the tokens repeatedly until this thread has used the given processor time. Wall time would give threads that share a core less
/// work.
inline void keep_busy(std::chrono::nanoseconds time, std::span<std::int64_t const> tokens) {
  if (time.count() <= 0) return;
  std::chrono::nanoseconds const end = processor_time() + time;
  std::uint64_t hash = fnv_1a(tokens);
  while (processor_time() < end) {
    for (int round = 0; round < 16; ++round) hash = fnv_1a(tokens, hash);
  }
  // The result is unused; without this the compiler removes the hashing.
  [[maybe_unused]] std::uint64_t const volatile kept = hash;
}

}  // namespace trainer
