// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <profkit/impl/analyze/ranks/timeline_segments.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <string>

#include "job_rank.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  std::chrono::nanoseconds waiting{};     ///< since it waits, until the last rank started it; 0 below the clocks' bound
  std::chrono::nanoseconds transfer{};    ///< the rest of its time
  std::chrono::nanoseconds after_last{};  ///< from the start of the last rank to the end on this rank; not limited by the clocks' bound
  std::chrono::nanoseconds exposed_waiting{};   ///< part of `waiting` without other work on the GPU
  std::chrono::nanoseconds exposed_transfer{};  ///< part of `transfer` without other work on the GPU
};

/// Whether a rank can leave such a collective before all others have started it: only the root of a reduction waits for all, and only the
/// others of a broadcast wait for its root.
inline bool is_one_way(std::string const& function) {
  std::string const name = plain_function(function);
  for (char const* const each : {"reduce", "gather", "gatherv", "bcast", "broadcast", "scatter", "scatterv", "scan", "exscan"}) {
    if (name == each) return true;
  }
  return false;
}

/// Waiting and transfer times of all ranks in one collective, defined as in Scalasca's "wait at NxN". A wait below the clocks' bound counts
/// as transfer.
///
/// In a one-way collective, a rank waits for the last of those that started it before this rank left.
///
/// If a rank left another collective before the last rank arrived, the collective was started earlier, and its scope only waits for its
/// end. Then no rank waits for another. Only ranks with a common clock can detect this. So it is with messages: a sender does not wait for
/// the receiver if the message was buffered.
struct collective_waits {
  own_vector<rank_wait> by_rank;  ///< by element of `matched_collective::on`

  std::size_t last = 0;             ///< element with the latest start; in a one-way collective, the one that the others waited for longest
  std::chrono::nanoseconds lead{};  ///< its start minus the second latest start; 0 in a one-way collective
  std::chrono::nanoseconds imposed{};  ///< mean of `waiting` over the other ranks; in a one-way collective, over the ranks that waited
  bool is_one_way = false;             ///< a rank can leave it before others have started it
  bool is_awaited = true;              ///< false: a rank left before the last rank arrived, so no rank waited

  /// The elements that met: an awaited one, then those that waited for it. In a one-way collective, by the start of the awaited one, and
  /// only elements that waited; otherwise one group with all elements.
  own_vector<own_vector<std::size_t>> groups;

  collective_waits(own_vector<job_rank> const& ranks, matched_collective const& what, rank_clocks const& clocks) {
    own_vector<timestamp> starts;  // on the common clock
    auto const end_of = [&](std::size_t i) { return collective_of(ranks, what.on[i]).time.end - clocks.shift(what.on[i]); };
    timestamp second = timestamp::min();
    timestamp left = timestamp::max();
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      starts.push_back(start_of(collective_of(ranks, what.on[i])) - clocks.shift(what.on[i]));
      if (starts[i] > starts[last]) {
        second = starts[last];
        last = i;
      } else if (i > 0) {
        second = std::max(second, starts[i]);
      }
      left = std::min(left, end_of(i));
    }
    participant const& first = what.on.front();
    rank_timeline const& timeline = ranks[first.rank].timeline;
    is_one_way = !what.is_message && detail::is_one_way(timeline.kinds[collective_of(ranks, first).kind].function);
    is_awaited = is_one_way || (!clocks.summary().is_one_clock && !what.is_message) || starts[last] <= left;
    if (is_awaited && !is_one_way && what.on.size() > 1) lead = starts[last] - second;
    own_vector<std::size_t> held_by(what.on.size(), last);  // by element: the one that it waited for, or itself
    own_vector<std::size_t> by_start{last};                 // the elements that can be awaited
    if (is_one_way) {
      by_start.resize(what.on.size());
      std::iota(by_start.begin(), by_start.end(), std::size_t{0});
      own_stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) { return starts[a] < starts[b]; });
      for (std::size_t i = 0; i < what.on.size(); ++i) {
        auto const after = std::upper_bound(by_start.begin(), by_start.end(), end_of(i),
                                            [&](timestamp end, std::size_t each) { return end < starts[each]; });
        held_by[i] = after == by_start.begin() || starts[*(after - 1)] <= starts[i] ? i : *(after - 1);
      }
    }
    own_vector<double> caused(what.on.size());  // Integers overflow for the largest times that a file may have.
    std::size_t waiting = 0;
    by_rank.reserve(what.on.size());
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      timeline_collective const& each = collective_of(ranks, what.on[i]);
      timestamp arrived =
          is_awaited ? std::clamp(starts[held_by[i]] + clocks.shift(what.on[i]), each.time.begin, each.time.end) : each.time.begin;
      rank_wait next;
      next.after_last = each.time.end - arrived;
      if (milliseconds{arrived - each.time.begin} < clocks.summary().bound) arrived = each.time.begin;
      next.waiting = arrived - each.time.begin;
      next.transfer = each.time.end - arrived;
      next.exposed_waiting = length_before(each.exposed, arrived);
      next.exposed_transfer = length_of(each.exposed) - next.exposed_waiting;
      by_rank.push_back(next);
      if (held_by[i] == i || next.waiting.count() == 0) continue;
      caused[held_by[i]] += static_cast<double>(next.waiting.count());
      ++waiting;
    }
    if (is_one_way) last = static_cast<std::size_t>(std::max_element(caused.begin(), caused.end()) - caused.begin());
    auto const others = static_cast<double>(std::max<std::size_t>(is_one_way ? waiting : what.on.size() - 1, 1));
    imposed = std::chrono::nanoseconds{static_cast<std::int64_t>(std::accumulate(caused.begin(), caused.end(), 0.0) / others)};
    own_vector<own_vector<std::size_t>> held(what.on.size());  // by element: those that waited for it
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      if (held_by[i] != i && (!is_one_way || by_rank[i].waiting.count() > 0)) held[held_by[i]].push_back(i);
    }
    for (std::size_t const each : by_start) {
      if (is_one_way && held[each].empty()) continue;
      groups.push_back({each});
      groups.back().insert(groups.back().end(), held[each].begin(), held[each].end());
    }
  }
};

}  // namespace PROFKIT_NAMESPACE::detail
