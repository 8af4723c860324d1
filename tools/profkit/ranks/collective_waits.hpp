// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/impl/analyze/ranks/timeline_segments.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>

#include "job_rank.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace profkit::detail {

/// @return the length of the parts of a list before a moment.
inline std::chrono::nanoseconds length_before(own_vector<interval> const& list, timestamp moment) {
  std::chrono::nanoseconds sum{};
  for (interval const& each : list) {
    if (each.begin < moment) sum += std::min(each.end, moment) - each.begin;
  }
  return sum;
}

/// The waiting and transfer times of one rank in one collective. `waiting` and `transfer` add up exactly to the time of the collective.
struct rank_wait {
  std::chrono::nanoseconds waiting{};     ///< from its own start to the start of the last rank; 0 below the clocks' bound
  std::chrono::nanoseconds transfer{};    ///< the rest of its time
  std::chrono::nanoseconds after_last{};  ///< from the start of the last rank to the end on this rank; not limited by the clocks' bound
  std::chrono::nanoseconds exposed_waiting{};   ///< part of `waiting` without other work on the GPU
  std::chrono::nanoseconds exposed_transfer{};  ///< part of `transfer` without other work on the GPU
};

/// Waiting and transfer times of all ranks in one collective, defined as in Scalasca's "wait at NxN". A wait below the clocks' bound counts
/// as transfer.
///
/// If a rank left before the last rank arrived, the collective was started earlier, and its scope only waits for its end. Then no rank
/// waits for another. Only ranks with a common clock can detect this.
struct collective_waits {
  own_vector<rank_wait> by_rank;  ///< by element of `matched_collective::on`

  std::size_t last = 0;                ///< element with the latest start
  std::chrono::nanoseconds lead{};     ///< its start minus the second latest start
  std::chrono::nanoseconds imposed{};  ///< mean of `waiting` over the other ranks
  bool is_awaited = true;              ///< false: a rank left before the last rank arrived, so no rank waited

  collective_waits(own_vector<job_rank> const& ranks, matched_collective const& what, rank_clocks const& clocks) {
    timestamp latest = timestamp::min();
    timestamp second = timestamp::min();
    timestamp left = timestamp::max();
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      timestamp const begin = collective_of(ranks, what.on[i]).time.begin - clocks.shift(what.on[i]);
      if (begin > latest) {
        second = latest;
        latest = begin;
        last = i;
      } else {
        second = std::max(second, begin);
      }
      left = std::min(left, collective_of(ranks, what.on[i]).time.end);
    }
    is_awaited = !clocks.summary().is_one_clock || latest <= left;
    lead = second == timestamp::min() || !is_awaited ? std::chrono::nanoseconds{} : latest - second;
    by_rank.reserve(what.on.size());
    double waiting = 0.0;  // Integers overflow for the largest times that a file may have.
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      timeline_collective const& each = collective_of(ranks, what.on[i]);
      timestamp arrived = is_awaited ? std::clamp(latest + clocks.shift(what.on[i]), each.time.begin, each.time.end) : each.time.begin;
      rank_wait next;
      next.after_last = each.time.end - arrived;
      if (milliseconds{arrived - each.time.begin} < clocks.summary().bound) arrived = each.time.begin;
      next.waiting = arrived - each.time.begin;
      next.transfer = each.time.end - arrived;
      next.exposed_waiting = length_before(each.exposed, arrived);
      next.exposed_transfer = length_of(each.exposed) - next.exposed_waiting;
      by_rank.push_back(next);
      if (i == last) continue;
      waiting += static_cast<double>(next.waiting.count());
    }
    auto const others = static_cast<double>(std::max<std::size_t>(what.on.size(), 2) - 1);
    imposed = std::chrono::nanoseconds{static_cast<std::int64_t>(waiting / others)};
  }
};

}  // namespace profkit::detail
