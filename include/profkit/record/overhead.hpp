// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "recorder.hpp"
#include "scope.hpp"
#include "thread_registry.hpp"

namespace profkit::detail {

/// Opens and closes scopes on this thread while no session reads its log, and takes them out of the log again. No NVTX.
/// @return the least of a few tries; zero if the thread can have no log.
inline std::chrono::nanoseconds measure_cost_of_1000_scopes(std::uint32_t clock_flag) noexcept {
  struct sample : scope {
    sample(std::uint32_t flags, site& where) noexcept { begin(flags, where); }
  };
  static site where{"overhead", __FILE__, __LINE__};
  thread_log* const log = log_of_this_thread();
  if (log == nullptr) return {};
  __atomic_store_n(&log->read, log->written, __ATOMIC_RELAXED);
  std::uint64_t const written = log->written;
  std::uint64_t const dropped = log->dropped;
  std::uint64_t const scopes_per_round = (log->mask + 1) / 4 < 1000 ? (log->mask + 1) / 4 : 1000;
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto const begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < scopes_per_round; ++i) sample const one{recording | clock_flag, where};
    auto const taken = std::chrono::steady_clock::now() - begin;
    if (taken < best) best = taken;
    __atomic_store_n(&log->written, written, __ATOMIC_RELAXED);
    log->dropped = dropped;
  }
  return best * 1000 / scopes_per_round;
}

}  // namespace profkit::detail
