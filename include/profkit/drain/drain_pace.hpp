// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "log_drain.hpp"

namespace profkit::detail {

/// Says when the session's thread drains next: soon where much is recorded, and so late that draining takes a bounded share of one core.
///
/// Waiting saves no work: what is recorded has to be read. It spreads the work of a burst. So the bound holds only while the logs hold
/// little. The next round begins before they hold `backlog_slots`, if threads go on as they did since the round before this one; at once
/// after a round that had as much to read.
class drain_pace {
 public:
  /// What a round of draining did.
  struct round {
    std::chrono::nanoseconds taken{};                                  ///< by the clock
    std::chrono::nanoseconds busy{};                                   ///< of processor time
    std::uint64_t slots = 0;                                           ///< read from all logs
    std::chrono::nanoseconds period{std::chrono::nanoseconds::max()};  ///< from the beginning of the round before to that of this one
  };

  /// How long to wait where little is recorded.
  static constexpr std::chrono::milliseconds idle_period{25};
  /// From the beginning of a round to that of the next one where more is recorded.
  static constexpr std::chrono::nanoseconds busy_period = log_drain::shortest_interval + std::chrono::microseconds{100};
  /// 8 MiB of logs.
  static constexpr std::uint64_t backlog_slots = std::uint64_t{1} << 20U;

  /// @param max_share of one core, above 0 and at most 1.
  /// @param has_journal what is recorded has to be in a file soon.
  explicit drain_pace(double max_share = 1.0, bool has_journal = false) noexcept : max_share_{max_share}, has_journal_{has_journal} {}

  /// @return how long to wait where somebody waits for the next round.
  [[nodiscard]] static std::chrono::nanoseconds soon_after(std::chrono::nanoseconds taken) noexcept {
    return std::max(busy_period - taken, std::chrono::nanoseconds{0});
  }

  /// @return how long to wait until the next round begins.
  [[nodiscard]] std::chrono::nanoseconds wait_after(round const& done) const noexcept {
    constexpr std::uint64_t many_slots = std::uint64_t{1} << 15U;
    bool const is_soon = done.slots >= (has_journal_ ? 1 : many_slots);
    std::chrono::nanoseconds const wait = is_soon ? busy_period - done.taken : idle_period;
    if (done.slots >= backlog_slots) return soon_after(done.taken);
    std::chrono::milliseconds const max_wait{has_journal_ ? 40 : 100};
    auto const for_share =
        std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(done.busy.count()) / max_share_)} - done.taken;
    std::chrono::nanoseconds const longest = std::min<std::chrono::nanoseconds>(max_wait, until_backlog(done) - done.taken);
    return std::clamp(std::max(wait, for_share), std::chrono::nanoseconds{0}, std::max(longest, soon_after(done.taken)));
  }

 private:
  /// From the beginning of a round until the logs hold `backlog_slots`.
  [[nodiscard]] static std::chrono::nanoseconds until_backlog(round const& done) noexcept {
    double const ns = static_cast<double>(done.period.count()) * (static_cast<double>(backlog_slots) / static_cast<double>(done.slots + 1));
    return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, 1e9))};
  }

  double max_share_;
  bool has_journal_;
};

}  // namespace profkit::detail
