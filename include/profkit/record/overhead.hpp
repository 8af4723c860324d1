// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "recorder.hpp"

namespace profkit::detail {

/// Opens and closes scopes on a log of its own. No NVTX.
/// @return the least of a few tries.
inline std::chrono::nanoseconds measure_cost_of_1000_scopes(std::uint32_t clock_flag) noexcept {
  constexpr std::uint64_t scopes = 1000;
  static site where{"overhead", __FILE__, __LINE__};
  std::uint64_t const what = tagged(where, event_kind::enter);
  alignas(site) std::uint64_t memory[4 * scopes];
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    thread_log log;
    log.use(memory, 4 * scopes);
    auto const begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < scopes; ++i) {
      if (clock_flag == 0 && log.enter(what)) {
        log.close(counter_ticks());
      } else if (log.reserve(3)) {
        log.put(what, ticks(clock_flag));
        log.opened(what);
        log.close(ticks(clock_flag));
      }
    }
    auto const taken = std::chrono::steady_clock::now() - begin;
    if (taken < best) best = taken;
  }
  return best;
}

}  // namespace profkit::detail
