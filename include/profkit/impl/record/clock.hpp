// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "../../time.hpp"
#include "../profile/numbers.hpp"
#include "recorder.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace profkit::detail {

/// Whether the kernel uses the time-stamp counter of this processor as its clock source. True if the kernel does not provide this
/// information.
inline bool kernel_trusts_counter() noexcept {
  std::FILE* const file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return true;
  char name[64] = {};
  bool const was_read = std::fgets(name, sizeof name, file) != nullptr;
  static_cast<void>(std::fclose(file));
  if (!was_read) return true;
  for (char const* const trusted : {"tsc", "kvm-clock", "hyperv_clocksource", "xen", "arch_sys_counter"}) {
    if (std::strncmp(name, trusted, std::strlen(trusted)) == 0) return true;
  }
  return false;
}

/// Whether the counter has the same rate on all cores and in all power states.
/// Source: Intel SDM volume 3, "Invariant TSC" (CPUID 80000007H, EDX bit 8); on Arm the architecture guarantees it.
inline bool counter_is_invariant() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  bool const says_so = __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8U)) != 0;
  return says_so && kernel_trusts_counter();
#elif defined(__aarch64__)
  return kernel_trusts_counter();
#else
  return false;
#endif
}

/// The same moment on both clocks.
struct clock_anchor {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;
};

/// Reads both clocks several times and returns the reading with the shortest duration, because it is the least disturbed one.
/// @param flags 0 or `use_monotonic_clock`.
/// @return `ns` is a value of CLOCK_MONOTONIC.
inline clock_anchor read_anchor(std::uint32_t flags) noexcept {
  if ((flags & use_monotonic_clock) != 0) {
    std::int64_t const now = monotonic_ns();
    return {static_cast<std::uint64_t>(now), now};
  }
  clock_anchor best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    std::uint64_t const before = counter_ticks();
    std::int64_t const now = monotonic_ns();
    std::uint64_t const after = counter_ticks();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, now};
  }
  return best;
}

/// Converts ticks to nanoseconds: by linear interpolation between the two newest anchors, and outside them at the mean rate since the first
/// anchor.
///
/// Between anchors, the error is at most the error of an anchor plus uneven slewing of CLOCK_MONOTONIC in between. The error of an anchor
/// is the duration of one reading of that clock (tens of nanoseconds). Times never decrease.
class clock_line {
 public:
  explicit clock_line(clock_anchor start) noexcept : start_{start}, from_{start}, to_{start} {}

  /// Extends the line from the last anchor to `next`, unless no time has passed.
  void advance(clock_anchor next) noexcept {
    if (next.ticks <= to_.ticks || next.ns <= to_.ns) return;
    from_ = to_;
    to_ = next;
    rate_ = static_cast<std::uint64_t>((static_cast<wide_integer>(to_.ns - from_.ns) << rate_bits) / (to_.ticks - from_.ticks));
    mean_rate_ = static_cast<double>(to_.ns - start_.ns) / static_cast<double>(to_.ticks - start_.ticks);
  }

  /// Draining calls this twice for each scope, so it uses integers: one multiplication.
  [[nodiscard, gnu::always_inline]] timestamp convert(std::uint64_t ticks) const noexcept {
    std::uint64_t const since = ticks - from_.ticks;
    if (__builtin_expect(since > to_.ticks - from_.ticks, 0)) return ticks > to_.ticks ? beside(to_, ticks) : beside(from_, ticks);
    constexpr wide_integer half = wide_integer{1} << (rate_bits - 1);
    auto const elapsed = static_cast<std::int64_t>((static_cast<wide_integer>(since) * rate_ + half) >> rate_bits);
    return timestamp{std::chrono::nanoseconds{from_.ns + elapsed}};
  }

  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const noexcept {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(ticks) * mean_rate_)};
  }

  [[nodiscard]] clock_anchor newest() const noexcept { return to_; }

 private:
  /// Fractional bits of `rate_`. Rounding it down changes no time within half a day of a counter of 3 GHz after an anchor.
  static constexpr unsigned rate_bits = 48;

  /// Extrapolates before or after the two newest anchors.
  [[nodiscard, gnu::noinline]] timestamp beside(clock_anchor nearest, std::uint64_t ticks) const noexcept {
    double const elapsed = static_cast<double>(static_cast<std::int64_t>(ticks - nearest.ticks)) * mean_rate_;
    return timestamp{std::chrono::nanoseconds{nearest.ns + std::llround(elapsed)}};
  }

  clock_anchor start_;
  clock_anchor from_;
  clock_anchor to_;
  std::uint64_t rate_ = 0;  ///< between the two newest anchors, in units of 2^-48 ns per tick
  double mean_rate_ = 0.0;  ///< in nanoseconds per tick
};

}  // namespace profkit::detail
