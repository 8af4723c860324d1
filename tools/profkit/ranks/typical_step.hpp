// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <profkit/impl/analyze/ranks/timeline_segments.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <utility>

#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The activity of the ranks in the step whose length is nearest to the median.
class typical_step {
 public:
  /// @param steps indices of the compared steps.
  typical_step(own_vector<job_rank> const& ranks, own_vector<matched_collective> const& all, rank_clocks const& clocks,
               std::set<std::uint64_t> const& steps)
      : ranks_{ranks}, all_{all}, clocks_{clocks}, steps_{steps} {}

  /// @param job must have its ranks.
  [[nodiscard]] std::optional<job_step_summary> find(job_summary const& job) const {
    auto const index = nearest_to_median();
    if (!index) return std::nullopt;
    std::map<std::size_t, std::map<std::uint32_t, milliseconds>> const waits = waits_in(*index);
    own_vector<std::pair<std::size_t, timeline_step const*>> shown;
    for (std::size_t const rank : chosen(job)) {
      for (timeline_step const& each : ranks_[rank].timeline.steps) {
        if (each.index == *index) shown.emplace_back(rank, &each);
      }
    }
    timestamp begin = timestamp::max();
    for (auto const& [rank, step] : shown) begin = std::min(begin, step->begin - clocks_.shift_at(rank_number(rank), step->begin));
    job_step_summary result;
    result.step = *index;
    for (auto const& [rank, step] : shown) {
      auto const at = waits.find(rank);
      result.ranks.push_back(of_rank(rank, *step, begin, at == waits.end() ? std::map<std::uint32_t, milliseconds>{} : at->second));
    }
    return result;
  }

 private:
  static constexpr std::size_t max_ranks = 8;

  static std::uint32_t rank_number(std::size_t rank) { return static_cast<std::uint32_t>(rank); }

  [[nodiscard]] std::optional<std::uint64_t> nearest_to_median() const {
    std::map<std::uint64_t, std::pair<double, double>> sums;
    for (job_rank const& rank : ranks_) {
      for (timeline_step const& each : rank.timeline.steps) {
        if (steps_.count(each.index) == 0) continue;
        auto& [sum, count] = sums[each.index];
        sum += static_cast<double>(((each.next_begin ? *each.next_begin : each.end) - each.begin).count());
        count += 1.0;
      }
    }
    own_vector<double> lengths;
    lengths.reserve(sums.size());
    for (auto const& [index, each] : sums) lengths.push_back(each.first / each.second);
    double const median = median_in(lengths);
    std::optional<std::uint64_t> result;
    double nearest = 0.0;
    for (auto const& [index, each] : sums) {
      double const distance = std::abs(each.first / each.second - median);
      if (result && distance >= nearest) continue;
      result = index;
      nearest = distance;
    }
    return result;
  }

  /// All ranks. If there are more than eight: eight ranks, spread evenly by the waits that they impose, from the longest to the shortest.
  static own_vector<std::size_t> chosen(job_summary const& job) {
    own_vector<std::size_t> all(job.ranks.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (all.size() <= max_ranks) return all;
    own_stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return job.ranks[a].imposed > job.ranks[b].imposed; });
    own_vector<std::size_t> result;
    for (std::size_t i = 0; i < max_ranks; ++i) result.push_back(all[i * (all.size() - 1) / (max_ranks - 1)]);
    std::sort(result.begin(), result.end());
    return result;
  }

  /// Waits by rank and by position of the collective.
  [[nodiscard]] std::map<std::size_t, std::map<std::uint32_t, milliseconds>> waits_in(std::uint64_t step) const {
    std::map<std::size_t, std::map<std::uint32_t, milliseconds>> result;
    for (matched_collective const& each : all_) {
      if (!each.is_complete || each.is_contradictory || collective_of(ranks_, each.on.front()).step != step) continue;
      collective_waits const waits{ranks_, each, clocks_};
      for (std::size_t i = 0; i < each.on.size(); ++i) result[each.on[i].rank][each.on[i].collective] = waits.by_rank[i].waiting;
    }
    return result;
  }

  [[nodiscard]] job_step_rank of_rank(std::size_t rank, timeline_step const& step, timestamp begin,
                                      std::map<std::uint32_t, milliseconds> const& waits) const {
    auto const moment = [&](timestamp at) { return milliseconds{at - clocks_.shift_at(rank_number(rank), at) - begin}; };
    auto const span = [&](interval const& time) { return job_span{moment(time.begin), moment(time.end)}; };
    job_step_rank result;
    result.rank = rank;
    own_vector<interval> on_host;
    auto const& collectives = ranks_[rank].timeline.collectives;
    timeline_collective const* last = nullptr;
    for (std::uint32_t i = 0; i < collectives.size(); ++i) {
      timeline_collective const& each = collectives[i];
      if (each.step != step.index) continue;
      auto const& kind = ranks_[rank].timeline.kinds[each.kind];
      if (kind.is_host) on_host.push_back(each.time);
      auto const wait = waits.find(i);
      milliseconds const waiting = wait == waits.end() ? milliseconds{} : wait->second;
      bool const is_same_wait = last != nullptr && last->time.begin == each.time.begin && last->time.end == each.time.end;
      last = &each;
      if (is_same_wait) {  // for several messages: until the last one
        result.collectives.back().waiting = std::max(result.collectives.back().waiting, waiting);
      } else {
        result.collectives.push_back({kind.function, span(each.time), waiting});
      }
    }
    bool const has_gpu_work = !step.computing.empty();
    for (interval const& each : has_gpu_work ? step.computing : uncovered({step.begin, step.end}, union_of(std::move(on_host))))
      result.computing.push_back(span(each));
    return result;
  }

  own_vector<job_rank> const& ranks_;
  own_vector<matched_collective> const& all_;
  rank_clocks const& clocks_;
  std::set<std::uint64_t> const& steps_;
};

}  // namespace PROFKIT_NAMESPACE::detail
