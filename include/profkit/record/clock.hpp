// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "../profile/time.hpp"
#include "recorder.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace profkit::detail {

/// Whether the kernel itself trusts the counter of this processor. Where it does not say, the processor's word counts.
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

/// Whether the counter ticks at one rate on all cores and in all power states.
/// Source: Intel SDM volume 3, "Invariant TSC" (CPUID 80000007H, EDX bit 8); on Arm the architecture says so.
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
  std::int64_t ns = 0;  ///< CLOCK_REALTIME
};

/// Reads both clocks; of several readings, takes the one that was interrupted least.
inline clock_anchor read_anchor(std::uint32_t flags) noexcept {
  if ((flags & use_system_clock) != 0) {
    std::uint64_t const now = system_clock_ticks();
    return {now, static_cast<std::int64_t>(now)};
  }
  clock_anchor best;
  std::uint64_t shortest = ~std::uint64_t{0};
  for (int i = 0; i < 16; ++i) {
    std::uint64_t const before = counter_ticks();
    std::uint64_t const now = system_clock_ticks();
    std::uint64_t const after = counter_ticks();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, static_cast<std::int64_t>(now)};
  }
  return best;
}

/// Converts ticks between two anchors to CLOCK_REALTIME, on the straight line through both. So the error anywhere is at most that
/// of an anchor, which is the time that one reading of the system clock takes (tens of nanoseconds), plus the curvature of the
/// system clock itself in between.
///
/// If the system clock was set between the anchors, the line would be wrong: then the last rate is kept, and times jump at the
/// later anchor as the clock did.
class clock_line {
 public:
  explicit clock_line(clock_anchor start) noexcept : from_{start}, to_{start} {}

  /// Moves on to the line from the last anchor to `next`.
  void advance(clock_anchor next) noexcept {
    from_ = to_;
    to_ = next;
    double const ticks = static_cast<double>(next.ticks - from_.ticks);
    if (ticks <= 0.0) return;
    double const rate = static_cast<double>(next.ns - from_.ns) / ticks;
    bool const was_set = rate_ > 0.0 && (rate < rate_ * (1.0 - tolerance) || rate > rate_ * (1.0 + tolerance));
    if (was_set) {
      ++times_set_;
    } else {
      rate_ = rate;
    }
  }

  /// @param ticks not after the newest anchor.
  [[nodiscard]] timestamp convert(std::uint64_t ticks) const noexcept {
    double const elapsed = static_cast<double>(static_cast<std::int64_t>(ticks - from_.ticks)) * rate_;
    // `std::llround` is a call, and four of them for each launch in a scope are a seventh of draining.
    return timestamp{std::chrono::nanoseconds{from_.ns + static_cast<std::int64_t>(elapsed + (elapsed < 0.0 ? -0.5 : 0.5))}};
  }

  [[nodiscard]] std::chrono::nanoseconds duration(std::uint64_t ticks) const noexcept {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(ticks) * rate_)};
  }

  [[nodiscard]] clock_anchor newest() const noexcept { return to_; }
  [[nodiscard]] std::uint64_t times_set() const noexcept { return times_set_; }

 private:
  /// Clock discipline slews by at most 500 parts per million (`adjtimex`); two short lines differ by more only through jitter.
  static constexpr double tolerance = 0.01;

  clock_anchor from_;
  clock_anchor to_;
  double rate_ = 0.0;  ///< nanoseconds per tick
  std::uint64_t times_set_ = 0;
};

}  // namespace profkit::detail
