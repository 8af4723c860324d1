// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "log_drain.hpp"

namespace profkit::detail {

/// Decides when the session's thread drains next: soon if much is recorded, and late enough that draining uses at most a given share of one
/// core.
///
/// Waiting does not save work; it only spreads a burst over time. So the share applies only while the logs are short. The next round begins
/// before they reach `backlog_slots` at the recent rate of writing. It begins immediately after a round that read as many slots.
class drain_pace {
 public:
  /// The results of one round of draining.
  struct round {
    std::chrono::nanoseconds taken{};                                  ///< elapsed time
    std::chrono::nanoseconds busy{};                                   ///< processor time
    std::uint64_t slot_count = 0;                                      ///< slots read from all logs
    std::chrono::nanoseconds period{std::chrono::nanoseconds::max()};  ///< time between the beginnings of the previous and this round
  };

  /// The period if little is recorded.
  static constexpr std::chrono::milliseconds idle_period{25};
  /// The period if more is recorded.
  static constexpr std::chrono::nanoseconds busy_period = log_drain::min_interval + std::chrono::microseconds{100};
  /// 8 MiB of logs.
  static constexpr std::uint64_t backlog_slots = std::uint64_t{1} << 20U;

  /// @param max_share share of one core, above 0 and at most 1.
  /// @param has_journal true: records must reach a file soon.
  explicit drain_pace(double max_share = 1.0, bool has_journal = false) noexcept : max_share_{max_share}, has_journal_{has_journal} {}

  /// @return the pause if another thread waits for the next round.
  [[nodiscard]] static std::chrono::nanoseconds soon_after(std::chrono::nanoseconds taken) noexcept {
    return std::max(busy_period - taken, std::chrono::nanoseconds{0});
  }

  /// @return the pause before the next round.
  [[nodiscard]] std::chrono::nanoseconds wait_after(round const& done) const noexcept {
    constexpr std::uint64_t many_slots = std::uint64_t{1} << 15U;
    bool const is_soon = done.slot_count >= (has_journal_ ? 1 : many_slots);
    std::chrono::nanoseconds const wait = is_soon ? busy_period - done.taken : idle_period;
    if (done.slot_count >= backlog_slots) return soon_after(done.taken);
    std::chrono::milliseconds const max_wait{has_journal_ ? 40 : 100};
    auto const for_share =
        std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(done.busy.count()) / max_share_)} - done.taken;
    std::chrono::nanoseconds const longest = std::min<std::chrono::nanoseconds>(max_wait, until_backlog(done) - done.taken);
    return std::clamp(std::max(wait, for_share), std::chrono::nanoseconds{0}, std::max(longest, soon_after(done.taken)));
  }

 private:
  /// The time from the beginning of a round until the logs have `backlog_slots`.
  [[nodiscard]] static std::chrono::nanoseconds until_backlog(round const& done) noexcept {
    double const ns =
        static_cast<double>(done.period.count()) * (static_cast<double>(backlog_slots) / static_cast<double>(done.slot_count + 1));
    return std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, 1e9))};
  }

  double max_share_;
  bool has_journal_;
};

}  // namespace profkit::detail
