// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <ctime>

// An imitated system clock that can be set: a clock_gettime for the whole program. Include it in one translation unit only.

/// The total change of CLOCK_REALTIME.
inline std::int64_t set_by_ns = 0;

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static auto* const system = reinterpret_cast<int (*)(clockid_t, timespec*)>(::dlsym(RTLD_NEXT, "clock_gettime"));
  if (clock != CLOCK_REALTIME) return system(clock, now);
  // CLOCK_MONOTONIC plus a constant, independent of changes of the host's clock.
  constexpr std::int64_t start_ns = 1'800'000'000'000'000'000;
  int const status = system(CLOCK_MONOTONIC, now);
  std::int64_t const ns = start_ns + now->tv_sec * 1'000'000'000 + now->tv_nsec + __atomic_load_n(&set_by_ns, __ATOMIC_RELAXED);
  *now = {ns / 1'000'000'000, ns % 1'000'000'000};
  return status;
}

/// Sets the clock like `settimeofday`; the argument is the total change since the program began.
inline void set_clock_by(std::chrono::nanoseconds by) { __atomic_store_n(&set_by_ns, by.count(), __ATOMIC_RELAXED); }

/// Restores the clock.
struct clock_is_set {
  clock_is_set() = default;
  clock_is_set(clock_is_set const&) = delete;
  clock_is_set& operator=(clock_is_set const&) = delete;
  ~clock_is_set() { set_clock_by({}); }
};
