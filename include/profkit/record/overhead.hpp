// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <new>

#include "recorder.hpp"

namespace profkit::detail {

/// Measures the cost of scopes on a separate log, without NVTX.
/// @return the minimum of several repetitions.
inline std::chrono::nanoseconds measure_cost_of_1000_scopes(std::uint32_t clock_flag) noexcept {
  constexpr std::uint64_t scopes = 1000;
  static site where{"overhead", __FILE__, __LINE__};
  std::uint64_t const what = tagged(where, event_kind::enter);
  constexpr std::uint64_t slots = 4 * scopes;
  alignas(log_alignment) unsigned char memory[sizeof(thread_log) + sizeof(log_chunk) + slots * sizeof(std::uint64_t)];
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto* const log = new (memory) thread_log;
    log->use(*new (memory + sizeof(thread_log)) log_chunk, slots, slots);
    auto const begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < scopes; ++i) {
      open_scope_word open = clock_flag == 0 ? log->enter(what) : 0;
      if (open == 0) {
        if (auto const claimed = log->claim(3)) open = log->open(claimed, what, ticks(clock_flag));
      }
      if (clock_flag != 0 || !log->close(open)) log->leave(open, ticks(clock_flag));
    }
    auto const taken = std::chrono::steady_clock::now() - begin;
    if (taken < best) best = taken;
  }
  return best;
}

}  // namespace profkit::detail
