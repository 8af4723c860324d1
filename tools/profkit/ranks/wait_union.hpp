// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>

namespace PROFKIT_NAMESPACE::detail {

/// Waiting times of several ranks.
struct wait_sums {
  milliseconds waiting{};
  milliseconds exposed{};  ///< the part of `waiting` without other work on the GPU

  wait_sums& operator+=(wait_sums const& more) noexcept {
    waiting += more.waiting;
    exposed += more.exposed;
    return *this;
  }
};

/// The waits that one rank caused.
struct waits_for_rank {
  own_vector<bool> can_wait;   ///< by rank: it was in a collective with such waits; empty if there is none
  own_vector<wait_sums> sums;  ///< by rank, in the compared steps; empty if there are none

  /// The number of ranks that can wait, at least 1.
  [[nodiscard]] double others() const { return std::max(1.0, static_cast<double>(std::count(can_wait.begin(), can_wait.end(), true))); }

  [[nodiscard]] wait_sums all() const {
    wait_sums result;
    for (wait_sums const& each : sums) result += each;
    return result;
  }
};

/// Adds up the waiting times of ranks such that simultaneous waits of a rank count once: a rank can wait in collectives of several
/// communicators at the same time. Waits must be added approximately in order of their beginning.
class wait_union {
 public:
  /// @param ranks number of ranks.
  explicit wait_union(std::size_t ranks) : last_(ranks, interval{timestamp::min(), timestamp::min()}) {}

  /// Adds a wait.
  /// @param rank position of the waiting rank.
  /// @return the share of the wait that is in no earlier wait of the rank.
  double new_share(std::size_t rank, timestamp begin, std::chrono::nanoseconds waiting) {
    if (waiting.count() <= 0) return 0.0;
    return static_cast<double>(add(rank, {begin, begin + waiting}).count()) / static_cast<double>(waiting.count());
  }

 private:
  std::chrono::nanoseconds add(std::size_t rank, interval const& wait) {
    interval& last = last_[rank];
    if (wait.begin >= last.end) {
      last = wait;
      return wait.duration();
    }
    if (wait.end <= last.begin) return wait.duration();
    std::chrono::nanoseconds const before = last.begin - std::min(wait.begin, last.begin);
    std::chrono::nanoseconds const after = std::max(wait.end, last.end) - last.end;
    last = {std::min(wait.begin, last.begin), std::max(wait.end, last.end)};
    return before + after;
  }

  own_vector<interval> last_;  ///< by rank: the latest union of waits without a gap
};

}  // namespace PROFKIT_NAMESPACE::detail
