// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <limits>

#include "../../time.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_memory.hpp"
#include "recorder.hpp"
#include "ticks.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace PROFKIT_NAMESPACE::detail {

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

/// The offset from CLOCK_MONOTONIC to CLOCK_REALTIME, and the time at which it was read.
struct calendar_reading {
  std::int64_t monotonic_ns = 0;
  std::int64_t offset_ns = 0;
};

/// Reads both clocks several times and returns the reading with the shortest duration, because it is the least disturbed one.
inline calendar_reading read_calendar() noexcept {
  calendar_reading best;
  std::int64_t shortest = (std::numeric_limits<std::int64_t>::max)();
  for (int i = 0; i < 5; ++i) {
    std::int64_t const before = clock_ns(CLOCK_MONOTONIC);
    std::int64_t const calendar = clock_ns(CLOCK_REALTIME);
    std::int64_t const after = clock_ns(CLOCK_MONOTONIC);
    if (after - before >= shortest) continue;
    shortest = after - before;
    std::int64_t const middle = before + shortest / 2;
    best = {middle, calendar - middle};
  }
  return best;
}

/// The clock of a session: CLOCK_MONOTONIC plus the offset to CLOCK_REALTIME at the beginning of the session.
///
/// Its times agree with the calendar at the beginning and never jump. Slewing (NTP) affects both clocks; setting the system clock moves
/// CLOCK_REALTIME alone. `at_calendar` and `may_be` convert times that other libraries read from CLOCK_REALTIME.
///
/// Thread safety: `now` on any thread; all other functions on one thread at a time.
class calendar_clock {
 public:
  /// Smaller changes count as reading errors: readings of an idle machine differ by a few nanoseconds, and a clock is never set by less
  /// than this.
  static constexpr std::int64_t min_change_ns = 100'000;

  calendar_clock() : calendar_clock{read_calendar()} {}
  explicit calendar_clock(calendar_reading start)
      : start_offset_ns_{start.offset_ns}, offsets_{{start.monotonic_ns, start.monotonic_ns, start.offset_ns}} {}

  /// The offset that is added to CLOCK_MONOTONIC.
  [[nodiscard]] std::int64_t offset_ns() const noexcept { return start_offset_ns_; }
  [[nodiscard]] timestamp at_monotonic(std::int64_t ns) const noexcept {
    return timestamp{std::chrono::nanoseconds{ns + start_offset_ns_}};
  }
  [[nodiscard]] timestamp now() const noexcept { return at_monotonic(monotonic_ns()); }

  /// Checks whether CLOCK_REALTIME was set since the last call.
  void look() { look(read_calendar()); }
  void look(calendar_reading now) {
    std::int64_t const change = now.offset_ns - offsets_.back().ns;
    if (change > -min_change_ns && change < min_change_ns) {
      offsets_.back().last_seen = now.monotonic_ns;
      offsets_.back().ns = now.offset_ns;
      return;
    }
    offsets_.push_back({now.monotonic_ns, now.monotonic_ns, now.offset_ns});
    change_ns_ += change;
  }

  /// How often CLOCK_REALTIME was set, and the sum of the changes.
  [[nodiscard]] std::uint64_t changes() const noexcept { return offsets_.size() - 1; }
  [[nodiscard]] std::chrono::nanoseconds change() const noexcept { return std::chrono::nanoseconds{change_ns_}; }

  /// Converts a time of CLOCK_REALTIME, if that clock was never set.
  [[nodiscard]] timestamp at_calendar(timestamp calendar) const noexcept { return moved(calendar, offsets_.front().ns); }

  /// All moments at which CLOCK_REALTIME may have had this value, in time order: several if the clock was set back. Returns at least one
  /// moment and none in the future.
  [[nodiscard]] own_vector<timestamp> may_be(timestamp calendar) const {
    std::int64_t const now = clock_ns(CLOCK_MONOTONIC);
    own_vector<timestamp> result;
    timestamp nearest{};
    auto shortest_distance = (std::numeric_limits<std::int64_t>::max)();
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      std::int64_t const monotonic = calendar.time_since_epoch().count() - offsets_[i].ns;
      // The change happened between the last reading before it and the first reading after it.
      std::int64_t const from = i == 0 ? (std::numeric_limits<std::int64_t>::min)() : offsets_[i - 1].last_seen;
      std::int64_t const to = i + 1 == offsets_.size() ? now : offsets_[i + 1].first_seen;
      timestamp const moment = moved(calendar, offsets_[i].ns);
      if (from <= monotonic && monotonic <= to) result.push_back(moment);
      std::int64_t const distance = monotonic < from ? from - monotonic : monotonic - (std::min)(monotonic, to);
      if (distance >= shortest_distance) continue;
      shortest_distance = distance;
      nearest = moment;
    }
    if (result.empty()) result.push_back(nearest);
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  struct offset {
    std::int64_t first_seen;  ///< value of CLOCK_MONOTONIC
    std::int64_t last_seen;
    std::int64_t ns;
  };

  [[nodiscard]] timestamp moved(timestamp calendar, std::int64_t ahead_ns) const noexcept {
    return calendar - std::chrono::nanoseconds{ahead_ns - start_offset_ns_};
  }

  std::int64_t start_offset_ns_;
  own_vector<offset> offsets_;  ///< in the order of time
  std::int64_t change_ns_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
