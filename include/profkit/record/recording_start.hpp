// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "../profile/profile_builder.hpp"
#include "clock.hpp"
#include "overhead.hpp"
#include "recorder.hpp"
#include "slow_path.hpp"
#include "thread_registry.hpp"

namespace profkit::detail {

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
