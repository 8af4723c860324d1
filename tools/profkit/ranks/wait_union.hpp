// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "matched_collectives.hpp"

namespace profkit::detail {

/// Waiting times of several ranks.
struct wait_sums {
  milliseconds waiting{};
  milliseconds exposed{};  ///< the part of `waiting` without other work on the GPU
};

/// Adds up the waiting times of ranks such that simultaneous waits of a rank count once: a rank can wait in collectives of several
/// communicators at the same time. Waits must be added approximately in order of their beginning.
class wait_union {
 public:
  /// @param ranks number of ranks.
  explicit wait_union(std::size_t ranks) : last_(ranks, interval{timestamp::min(), timestamp::min()}) {}

  /// Adds the waits of some ranks in a collective.
  /// @param is_counted called with the position of an element of `what.on`.
  /// @return the sums of the waits over these ranks, without the parts that are in earlier waits of the same rank.
  template <class IsCounted>
  wait_sums add(own_vector<job_rank> const& ranks, matched_collective const& what, collective_waits const& waits,
                IsCounted const& is_counted) {
    wait_sums result;
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      if (!is_counted(i)) continue;
      rank_wait const& wait = waits.by_rank[i];
      double const share = new_share(what.on[i].rank, collective_of(ranks, what.on[i]).time.begin, wait.waiting);
      result.waiting += share * wait.waiting;
      result.exposed += share * wait.exposed_waiting;
    }
    return result;
  }

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

}  // namespace profkit::detail
