// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu_timer_ring.hpp"
#include "perf_ring.hpp"
#include "sample_source.hpp"

namespace profkit::detail {

/// A sampled thread, identified by its log.
struct sampled_thread {
  enum class kind : std::uint8_t { not_counted, sampled, refused };

  std::uint32_t generation = 0;  ///< generation of the log: number of threads that have owned it
  perf_ring ring{};              ///< at most one of `ring` and `timer` is open
  cpu_timer_ring timer{};
  std::uint64_t period_ns = 0;     ///< processor time between samples
  std::uint64_t since_period = 0;  ///< number of samples since the period was set
  bool waits_for_stack = false;    ///< the thread must set its signal stack first
  bool blocks_signals = false;     ///< the thread blocked the signal of the timers at the last check
  kind counted = kind::not_counted;
  waiting_samples waiting{};
};

}  // namespace profkit::detail
