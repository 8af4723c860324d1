// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>
#include <vector>

#include "../profile/time.hpp"
#include "ticks.hpp"

namespace profkit::detail {

/// How far CLOCK_REALTIME was ahead of CLOCK_MONOTONIC, and when.
struct calendar_reading {
  std::int64_t monotonic_ns = 0;
  std::int64_t offset_ns = 0;
};

/// Reads both clocks; of several readings, takes the one that was interrupted least.
inline calendar_reading read_calendar() noexcept {
  calendar_reading best;
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
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

/// Places the times of a session on the calendar: they are CLOCK_MONOTONIC plus what CLOCK_REALTIME was ahead of it when the session began.
/// So they read as the calendar did then, and never jump. A slewed clock (NTP) slews both; a clock that is set moves CLOCK_REALTIME alone.
/// Then `at_calendar` and `may_be` convert what others read from CLOCK_REALTIME.
///
/// `now` may be called on any thread, all else by one thread at a time.
class calendar_clock {
 public:
  /// A smaller change is taken for an inaccurate reading: on an undisturbed machine readings differ by some nanoseconds, and nothing
  /// sets a clock by so little.
  static constexpr std::int64_t min_change_ns = 100'000;

  calendar_clock() noexcept : calendar_clock{read_calendar()} {}
  explicit calendar_clock(calendar_reading start)
      : start_offset_ns_{start.offset_ns}, offsets_{{start.monotonic_ns, start.monotonic_ns, start.offset_ns}} {}

  /// What is added to CLOCK_MONOTONIC.
  [[nodiscard]] std::int64_t offset_ns() const noexcept { return start_offset_ns_; }
  [[nodiscard]] timestamp at_monotonic(std::int64_t ns) const noexcept {
    return timestamp{std::chrono::nanoseconds{ns + start_offset_ns_}};
  }
  [[nodiscard]] timestamp now() const noexcept { return at_monotonic(monotonic_ns()); }

  /// Looks whether CLOCK_REALTIME was set since the last time.
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

  /// How often it was set, and by how much in all.
  [[nodiscard]] std::uint64_t changes() const noexcept { return offsets_.size() - 1; }
  [[nodiscard]] std::chrono::nanoseconds change() const noexcept { return std::chrono::nanoseconds{change_ns_}; }

  /// When CLOCK_REALTIME read this, if it was not set.
  [[nodiscard]] timestamp at_calendar(timestamp calendar) const noexcept { return moved(calendar, offsets_.front().ns); }

  /// When CLOCK_REALTIME may have read this, from the earliest moment to the latest: several if it was set back. At least one, and none
  /// that is still to come.
  [[nodiscard]] std::vector<timestamp> may_be(timestamp calendar) const {
    std::int64_t const now = clock_ns(CLOCK_MONOTONIC);
    std::vector<timestamp> result;
    timestamp nearest{};
    auto least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      std::int64_t const monotonic = calendar.time_since_epoch().count() - offsets_[i].ns;
      // The change lies somewhere between the last reading before and the first one after it.
      std::int64_t const from = i == 0 ? std::numeric_limits<std::int64_t>::min() : offsets_[i - 1].last_seen;
      std::int64_t const to = i + 1 == offsets_.size() ? now : offsets_[i + 1].first_seen;
      timestamp const moment = moved(calendar, offsets_[i].ns);
      if (from <= monotonic && monotonic <= to) result.push_back(moment);
      std::int64_t const distance = monotonic < from ? from - monotonic : monotonic - std::min(monotonic, to);
      if (distance >= least) continue;
      least = distance;
      nearest = moment;
    }
    if (result.empty()) result.push_back(nearest);
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  struct offset {
    std::int64_t first_seen;  ///< CLOCK_MONOTONIC
    std::int64_t last_seen;
    std::int64_t ns;
  };

  [[nodiscard]] timestamp moved(timestamp calendar, std::int64_t ahead_ns) const noexcept {
    return calendar - std::chrono::nanoseconds{ahead_ns - start_offset_ns_};
  }

  std::int64_t start_offset_ns_;
  std::vector<offset> offsets_;  ///< one after the other
  std::int64_t change_ns_ = 0;
};

}  // namespace profkit::detail
