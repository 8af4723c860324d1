// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/impl/analyze/ranks/found_collectives.hpp>
#include <profkit/impl/analyze/ranks/timeline_part.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "communicator_parts.hpp"
#include "job_rank.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// One collective on one rank.
struct participant {
  std::uint32_t rank = 0;        ///< position in the list of ranks
  std::uint32_t collective = 0;  ///< position in `rank_timeline::collectives`
};

/// The rank's record of the collective.
inline timeline_collective const& collective_of(own_vector<job_rank> const& ranks, participant const& one) {
  return ranks[one.rank].timeline.collectives[one.collective];
}

/// When the rank started it; at `time.begin` if that was not recorded.
inline timestamp start_of(timeline_collective const& one) { return one.posted == timestamp{} ? one.time.begin : one.posted; }

/// Whether all ranks leave a collective with this function together.
inline bool is_left_together(std::string const& function) {
  std::string const plain = plain_function(function);
  for (char const* const each : {"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}) {
    if (plain == each) return true;
  }
  return false;
}

/// One collective with all its ranks, or a message with its sender and its receiver.
struct matched_collective {
  own_vector<participant> on;  ///< by rank
  bool is_message = false;
  bool is_measured = false;
  bool is_complete = true;        ///< all ranks of its communicator recorded it
  bool is_common = true;          ///< at least two ranks recorded it, and all ranks of its communicator with a record of its function
  bool is_contradictory = false;  ///< ranks disagree about its size or type
  bool is_ambiguous = false;      ///< several communicators have this key, and the members of each are unknown
  bool is_by_order = false;       ///< it has no number and was matched by its order in the step
  std::uint32_t size = 0;         ///< number of ranks of its communicator; 0: unknown
  std::uint32_t missing = 0;      ///< number of ranks of its communicator without a usable file
};

/// Matches the collectives of all ranks by communicator, function and number, and messages by communicator, sender, receiver, tag and
/// number. Takes time proportional to the collectives.
///
/// Without numbers, the n-th collective of a function in a step is the same on all ranks. If a rank has more or fewer of them in a step,
/// it lost a record, and those of this step are not matched.
class collective_matcher {
 public:
  explicit collective_matcher(own_vector<job_rank>&&) = delete;  // borrowed, so no converted temporary
  explicit collective_matcher(own_vector<job_rank> const& ranks) : ranks_{ranks} {
    std::uint64_t stride = 1;
    for (job_rank const& each : ranks) stride = std::max(stride, each.timeline.stride);
    find_groups();
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) add(rank, stride);
    for (std::size_t i = 0; i < all_.size(); ++i) judge(all_[i], group_of_[i]);
  }

  [[nodiscard]] own_vector<matched_collective> take() && { return std::move(all_); }

 private:
  /// The collectives of one communicator and function.
  struct group {
    std::uint32_t size = 0;      ///< number of ranks of the communicator; 0: unknown
    std::uint32_t present = 0;   ///< number of its ranks with a file
    std::uint32_t recorded = 0;  ///< number of its ranks that recorded the function
    std::uint32_t files = 0;     ///< number of files with the function; one file can have several ranks of a communicator
    bool is_ambiguous = false;
    bool is_by_order = false;
  };
  struct key {
    std::uint32_t group;
    std::uint64_t step;  ///< 0 if the collective has a number; the tag of a message
    std::uint64_t sequence;
    std::uint64_t ends;  ///< sender and receiver of a message
    bool operator==(key const& other) const noexcept {
      return group == other.group && step == other.step && sequence == other.sequence && ends == other.ends;
    }
  };
  struct key_hash {
    std::size_t operator()(key const& value) const noexcept {
      constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
      return ((value.sequence + (value.step + value.ends * golden) * golden) * golden) ^ (std::uint64_t{value.group} << 40U);
    }
  };
  using step_of_group = std::pair<std::uint32_t, std::uint64_t>;  ///< the group and the index of the step

  void find_groups() {
    std::map<communicator_key, own_vector<communicator_member>> members;
    std::map<communicator_key, std::set<std::pair<std::uint32_t, std::uint32_t>>> known;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      for (collective_kind const& kind : ranks_[i].timeline.kinds) {
        communicator_key const wanted = communicator_key_of(kind);
        if (known[wanted].emplace(i, kind.rank).second) members[wanted].push_back({i, ranks_[i].rank, kind.rank});
      }
    }
    std::map<communicator_key, communicator_parts> parts;
    for (auto const& [wanted, list] : members) parts.emplace(wanted, communicator_parts{list, std::get<2>(wanted)});
    std::map<std::tuple<communicator_key, std::uint32_t, std::string>, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      rank_timeline const& timeline = ranks_[i].timeline;
      group_of_kind_.emplace_back();
      for (collective_kind const& kind : timeline.kinds) {
        communicator_key const wanted = communicator_key_of(kind);
        communicator_parts const& of_key = parts.at(wanted);
        std::uint32_t const part = of_key.part_of(i, kind.rank);
        auto const [at, is_new] = numbers.try_emplace({wanted, part, kind.function}, static_cast<std::uint32_t>(groups_.size()));
        if (is_new) groups_.push_back({kind.size, of_key.present(part), 0, 0, of_key.is_ambiguous(), false});
        groups_[at->second].is_by_order = groups_[at->second].is_by_order || !timeline.has_numbers;
        group_of_kind_.back().push_back(at->second);
      }
    }
  }

  void add(std::uint32_t rank, std::uint64_t stride) {
    rank_timeline const& timeline = ranks_[rank].timeline;
    std::set<std::uint32_t> files;
    std::set<std::pair<std::uint32_t, std::uint32_t>> recorded;
    own_vector<bool> is_recorded(timeline.kinds.size());
    std::map<step_of_group, std::uint64_t> counts;
    own_hash_map<std::uint64_t, bool> measured;
    for (timeline_step const& step : timeline.steps) measured[step.index] = step.is_measured;
    for (std::uint32_t i = 0; i < timeline.collectives.size(); ++i) {
      timeline_collective const& each = timeline.collectives[i];
      if (last_stride_of(each.step) < stride) continue;
      std::uint32_t const number = group_of_kind_[rank][each.kind];
      group& members = groups_[number];
      if (!is_recorded[each.kind]) {
        is_recorded[each.kind] = true;
        if (files.insert(number).second) ++members.files;
        if (recorded.emplace(number, timeline.kinds[each.kind].rank).second) ++members.recorded;
      }
      bool const is_message = each.side != message_side::none;
      key wanted{number, 0, each.sequence, 0};
      if (is_message) {
        wanted = key_of_message(number, each, timeline.kinds[each.kind].rank);
      } else if (members.is_by_order) {
        wanted = {number, each.step, counts[{number, each.step}]++, 0};
      }
      auto const [at, is_new] = index_.try_emplace(wanted, all_.size());
      if (is_new) {
        all_.push_back({});
        group_of_.push_back(number);
      }
      matched_collective& whole = all_[at->second];
      whole.is_message = is_message;
      if (!whole.on.empty() && whole.on.back().rank == rank) continue;  // A rank can have the collective twice; the first one counts.
      auto const in_step = measured.find(each.step);
      bool const counts_as_measured = in_step != measured.end() && in_step->second;
      whole.is_measured = (whole.on.empty() || whole.is_measured) && counts_as_measured;
      whole.on.push_back({rank, i});
    }
    for (auto const& [step, count] : counts) {
      if (counts_.try_emplace(step, count).first->second != count) uneven_.insert(step);
    }
  }

  static key key_of_message(std::uint32_t group, timeline_collective const& one, std::uint32_t rank) {
    bool const is_sent = one.side == message_side::send;
    std::uint64_t const ends = is_sent ? std::uint64_t{rank} << 32U | one.partner : std::uint64_t{one.partner} << 32U | rank;
    return {group, static_cast<std::uint32_t>(one.tag), one.sequence, ends};
  }

  /// A message needs both its ends. A message without a number cannot be matched.
  void judge_message(matched_collective& whole, group const& members) const {
    timeline_collective const& first = collective_of(ranks_, whole.on.front());
    bool const is_whole = whole.on.size() == 2 && first.side != collective_of(ranks_, whole.on.back()).side;
    whole.size = 2;
    whole.is_common = whole.is_complete = is_whole && !members.is_ambiguous && first.sequence != ~std::uint64_t{0};
    whole.is_ambiguous = members.is_ambiguous;
  }

  void judge(matched_collective& whole, std::uint32_t number) const {
    group const& members = groups_[number];
    if (whole.is_message) {
      judge_message(whole, members);
      return;
    }
    timeline_collective const& first = collective_of(ranks_, whole.on.front());
    bool const is_uneven = members.is_by_order && uneven_.count({number, first.step}) > 0;
    whole.size = members.size;
    whole.missing = members.size > members.present && !members.is_ambiguous ? members.size - members.present : 0;
    whole.is_by_order = members.is_by_order;
    whole.is_ambiguous = members.is_ambiguous;
    whole.is_common = whole.on.size() == members.files && whole.on.size() > 1 && !members.is_ambiguous && !is_uneven;
    whole.is_complete = whole.is_common && (members.size == 0 || members.recorded == members.size);
    if (members.is_ambiguous) return;
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

  own_vector<job_rank> const& ranks_;
  own_vector<group> groups_;
  own_vector<own_vector<std::uint32_t>> group_of_kind_;  ///< by rank and kind
  own_hash_map<key, std::size_t, key_hash> index_;
  std::map<step_of_group, std::uint64_t> counts_;  ///< number of collectives without a number on the first rank
  std::set<step_of_group> uneven_;                 ///< these numbers differ between ranks
  own_vector<matched_collective> all_;
  own_vector<std::uint32_t> group_of_;  ///< by element of `all_`
};

}  // namespace PROFKIT_NAMESPACE::detail
