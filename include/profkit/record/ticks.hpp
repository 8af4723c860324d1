// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace profkit::detail {

/// Nanoseconds on CLOCK_REALTIME.
inline std::uint64_t system_clock_ticks() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The time-stamp counter of this processor. Not ordered against the instructions around it, which costs nothing.
/// (The builtin, because `<x86intrin.h>` takes 800 ms to compile.)
inline std::uint64_t counter_ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return system_clock_ticks();
#endif
}

}  // namespace profkit::detail
