// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>

#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "ticks.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
