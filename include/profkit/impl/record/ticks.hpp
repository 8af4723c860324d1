// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Reads a system clock, in nanoseconds.
inline std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + std::int64_t{now.tv_nsec};
}

/// Reads CLOCK_MONOTONIC, which cannot be set, in nanoseconds.
inline std::int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

/// Replaces the time-stamp counter where it is not invariant: CLOCK_MONOTONIC.
inline std::uint64_t monotonic_ticks() noexcept { return static_cast<std::uint64_t>(monotonic_ns()); }

/// Reads the time-stamp counter. The reading is not ordered against other instructions, because ordering would cost time. Uses the builtin,
/// because `<x86intrin.h>` takes 800 ms to compile.
inline std::uint64_t counter_ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return monotonic_ticks();
#endif
}

}  // namespace PROFKIT_NAMESPACE::detail
