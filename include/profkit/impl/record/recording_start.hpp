// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <new>

#include "../../profile_builder.hpp"
#include "clock.hpp"
#include "recorder.hpp"
#include "slow_path.hpp"
#include "thread_registry.hpp"

namespace profkit::detail {

/// Measures the cost of scopes on a separate log, without NVTX.
/// @return the minimum of several repetitions.
inline std::chrono::nanoseconds measure_cost_of_1000_scopes(std::uint32_t clock_flag) noexcept {
  constexpr std::uint64_t scopes = 1000;
  static site where{"overhead", __FILE__, __LINE__};
  std::uint64_t const what = tagged(where, event_kind::enter);
  constexpr std::uint64_t slot_count = 4 * scopes;
  alignas(log_alignment) unsigned char memory[sizeof(thread_log) + sizeof(log_chunk) + slot_count * sizeof(std::uint64_t)];
  auto best = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto* const log = new (memory) thread_log;
    log->use(*new (memory + sizeof(thread_log)) log_chunk, slot_count, slot_count);
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

/// Prepares the recorder for a session: logs, hooks and clock. To be called on the thread that creates the session. Nothing is recorded
/// yet.
/// @param log_slots maximum number of slots of a thread's log.
/// @param into receives the clock and the cost of scopes.
/// @return 0 or `use_monotonic_clock`.
inline std::uint32_t start_recording(std::uint64_t log_slots, profile_builder& into) {
  watch_forks();
  install_logs(log_slots);
  install_slow_path();
  bool const has_counter = counter_is_invariant();
  std::uint32_t const clock_flag = has_counter ? 0 : use_monotonic_clock;
  into.set(&quality_record::clock, has_counter ? "time-stamp counter" : "CLOCK_MONOTONIC");
  warm_up_log_of_this_thread();
  keep_spare_logs();
  into.set(&quality_record::cost_of_1000_scopes, measure_cost_of_1000_scopes(clock_flag));
  __atomic_fetch_add(&recorder.session, 1, __ATOMIC_RELAXED);
  for (side_log* side = __atomic_load_n(&recorder.side_logs, __ATOMIC_ACQUIRE); side != nullptr; side = side->next) {
    side->reset();
  }
  return clock_flag;
}

}  // namespace profkit::detail
