// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "job_rank.hpp"

namespace profkit::detail {

/// One collective on one rank.
struct participant {
  std::uint32_t rank = 0;        ///< position in the list of ranks
  std::uint32_t collective = 0;  ///< position in `rank_timeline::collectives`
};

/// The rank's record of the collective.
inline timeline_collective const& collective_of(std::vector<job_rank> const& ranks, participant const& one) {
  return ranks[one.rank].timeline.collectives[one.collective];
}

/// One collective with all its ranks.
struct matched_collective {
  std::vector<participant> on;  ///< by rank
  bool is_measured = false;
  bool is_complete = true;        ///< all ranks of its communicator recorded it
  bool is_contradictory = false;  ///< ranks disagree about its size or type
};

/// Matches the collectives of all ranks by communicator, function and number. Takes time proportional to the collectives.
class collective_matcher {
 public:
  explicit collective_matcher(std::vector<job_rank> const& ranks) : ranks_{ranks} {
    std::uint64_t stride = 1;
    for (job_rank const& each : ranks) stride = std::max(stride, each.timeline.stride);
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) add(rank, stride);
    for (std::size_t i = 0; i < all_.size(); ++i) judge(all_[i], members_[group_of_[i]]);
  }

  [[nodiscard]] std::vector<matched_collective> take() && { return std::move(all_); }

 private:
  struct key {
    std::uint32_t group;
    std::uint64_t sequence;
    bool operator==(key const& other) const noexcept { return group == other.group && sequence == other.sequence; }
  };
  struct key_hash {
    std::size_t operator()(key const& value) const noexcept {
      return (value.sequence * 0x9e3779b97f4a7c15U) ^ (std::uint64_t{value.group} << 40U);
    }
  };

  void add(std::uint32_t rank, std::uint64_t stride) {
    rank_timeline const& timeline = ranks_[rank].timeline;
    std::vector<std::uint32_t> group_of_kind;
    for (collective_kind const& kind : timeline.kinds) {
      auto const [at, is_new] =
          groups_.try_emplace({kind.communicator, kind.group, kind.function}, static_cast<std::uint32_t>(groups_.size()));
      if (is_new) members_.push_back(0);
      group_of_kind.push_back(at->second);
    }
    std::vector<bool> is_member(groups_.size());
    std::unordered_map<std::uint64_t, bool> measured;
    for (timeline_step const& step : timeline.steps) measured[step.index] = step.is_measured;
    for (std::uint32_t i = 0; i < timeline.collectives.size(); ++i) {
      timeline_collective const& each = timeline.collectives[i];
      if (each.step % stride != 0) continue;
      std::uint32_t const group = group_of_kind[each.kind];
      if (!is_member[group]) ++members_[group];
      is_member[group] = true;
      auto const [at, is_new] = index_.try_emplace({group, each.sequence}, all_.size());
      if (is_new) {
        all_.push_back({});
        group_of_.push_back(group);
      }
      matched_collective& whole = all_[at->second];
      if (!whole.on.empty() && whole.on.back().rank == rank) continue;  // A rank can have the collective twice; the first one counts.
      auto const in_step = measured.find(each.step);
      bool const counts = in_step != measured.end() && in_step->second;
      whole.is_measured = (whole.on.empty() || whole.is_measured) && counts;
      whole.on.push_back({rank, i});
    }
  }

  void judge(matched_collective& whole, std::uint32_t members) const {
    whole.is_complete = whole.on.size() == members && whole.on.size() > 1;
    timeline_collective const& first = collective_of(ranks_, whole.on.front());
    std::string const& datatype = kind(whole.on.front()).datatype;
    for (participant const& each : whole.on) {
      timeline_collective const& other = collective_of(ranks_, each);
      bool const is_size_known = first.bytes != 0 && other.bytes != 0;
      if (is_size_known && first.bytes != other.bytes) whole.is_contradictory = true;
      if (kind(each).datatype != datatype) whole.is_contradictory = true;
    }
  }

  [[nodiscard]] collective_kind const& kind(participant const& participant) const {
    return ranks_[participant.rank].timeline.kinds[collective_of(ranks_, participant).kind];
  }

  std::vector<job_rank> const& ranks_;
  std::map<std::tuple<std::uint64_t, std::string, std::string>, std::uint32_t> groups_;  ///< by communicator and function
  std::vector<std::uint32_t> members_;                                                   ///< by group: number of its ranks
  std::unordered_map<key, std::size_t, key_hash> index_;
  std::vector<matched_collective> all_;
  std::vector<std::uint32_t> group_of_;  ///< by element of `all_`
};

}  // namespace profkit::detail
