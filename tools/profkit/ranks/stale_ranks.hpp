// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <utility>

#include "communicator_parts.hpp"
#include "job_rank.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The number of ranks of the job: the largest job size that any rank recorded, which also reveals missing last ranks; at least the number
/// of the present ranks.
/// @param ranks in order.
inline std::uint64_t expected_ranks(own_vector<job_rank> const& ranks) {
  std::uint64_t result = ranks.empty() ? 0 : std::uint64_t{ranks.back().rank} + 1;
  for (job_rank const& each : ranks) {
    if (each.environment.rank) result = std::max<std::uint64_t>(result, each.environment.rank->size);
  }
  return result;
}

/// Finds files that another run left in the folder of the job, and gives their ranks a problem.
class stale_rank_finder {
 public:
  /// @param ranks in order; borrowed.
  explicit stale_rank_finder(own_vector<job_rank>& ranks) : ranks_{ranks}, set_of_(ranks.size()) {}

  void mark() {
    mark_other_restarts();
    mark_other_communicators();
    mark_other_times();
  }

 private:
  static constexpr char const* advice = ", so its file may be left from another run";

  [[nodiscard]] bool is_usable(std::size_t position) const { return ranks_[position].problem.empty(); }

  void mark_other_restarts() {
    std::map<std::uint32_t, std::size_t> counts;
    for (job_rank const& each : ranks_) {
      if (each.problem.empty() && each.environment.rank) ++counts[each.environment.rank->restart];
    }
    if (counts.size() < 2) return;
    // Of equally frequent ones, the last one.
    auto const usual = std::max_element(counts.rbegin(), counts.rend(), [](auto const& a, auto const& b) { return a.second < b.second; });
    for (job_rank& each : ranks_) {
      if (!each.problem.empty() || !each.environment.rank || each.environment.rank->restart == usual->first) continue;
      each.problem = "it is of restart " + std::to_string(each.environment.rank->restart) + ", the job is of restart " +
                     std::to_string(usual->first) + advice;
    }
  }

  /// The names of NCCL kernels do not tell the communicator.
  static bool is_known(collective_kind const& kind) { return kind.communicator != 0 || !kind.group.empty() || kind.is_host; }

  /// Marks the ranks outside a communicator of the whole job. If all ranks have a file, marks also a rank that shares no communicator with
  /// any other one while the others share one.
  void mark_other_communicators() {
    std::map<communicator_key, std::size_t> first;
    own_vector<std::size_t> judged;
    std::iota(set_of_.begin(), set_of_.end(), std::size_t{0});
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      own_vector<collective_kind> const& kinds = ranks_[i].timeline.kinds;
      if (!is_usable(i) || std::none_of(kinds.begin(), kinds.end(), is_known)) continue;
      judged.push_back(i);
      for (collective_kind const& kind : kinds) {
        if (!is_known(kind)) continue;
        auto const [at, is_new] = first.try_emplace(communicator_key_of(kind), i);
        if (!is_new) set_of_[root_of(i)] = root_of(at->second);
      }
    }
    std::map<std::size_t, own_vector<std::size_t>> sets;
    for (std::size_t const each : judged) sets[root_of(each)].push_back(each);
    if (sets.size() < 2) return;
    auto const most = std::max_element(sets.begin(), sets.end(), [&](auto const& a, auto const& b) {
      return std::pair{a.second.size(), latest(a.second)} < std::pair{b.second.size(), latest(b.second)};
    });
    if (most->second.size() < 2) return;
    bool const is_of_all = spans_job(most->second);
    for (auto const& [root, set] : sets) {
      if (root == most->first) continue;
      if (!is_of_all && (set.size() > 1 || !has_all_files() || is_alone(ranks_[set.front()]))) continue;
      for (std::size_t const each : set) ranks_[each].problem = std::string{"it shares no communicator with the other ranks"} + advice;
    }
  }

  [[nodiscard]] std::size_t root_of(std::size_t position) {
    while (set_of_[position] != position) position = set_of_[position] = set_of_[set_of_[position]];  // shortens the way
    return position;
  }

  [[nodiscard]] timestamp latest(own_vector<std::size_t> const& set) const {
    timestamp result = timestamp::min();
    for (std::size_t const each : set) {
      if (!ranks_[each].timeline.steps.empty()) result = std::max(result, ranks_[each].timeline.steps.back().host.end);
    }
    return result;
  }

  /// Whether a communicator of these ranks has all ranks of their job.
  [[nodiscard]] bool spans_job(own_vector<std::size_t> const& set) const {
    std::uint64_t job = 0;
    std::uint64_t largest = 0;
    for (std::size_t const each : set) {
      if (auto const& rank = ranks_[each].environment.rank) job = std::max<std::uint64_t>(job, rank->size);
      for (collective_kind const& kind : ranks_[each].timeline.kinds) largest = std::max<std::uint64_t>(largest, kind.size);
    }
    return largest > 0 && largest >= (job > 0 ? job : expected_ranks(ranks_));
  }

  [[nodiscard]] bool has_all_files() const {
    std::set<std::uint32_t> present;
    for (job_rank const& each : ranks_) present.insert(each.rank);
    return present.size() >= expected_ranks(ranks_);
  }

  /// Whether all communicators of a rank have only this rank.
  static bool is_alone(job_rank const& rank) {
    return std::all_of(rank.timeline.kinds.begin(), rank.timeline.kinds.end(), [](collective_kind const& kind) { return kind.size == 1; });
  }

  /// Ranks of one machine share a clock. Marks those that ran at another time than most of them. A common communicator of NCCL proves
  /// that they ran together, even if somebody has set the clock.
  void mark_other_times() {
    std::map<std::string, own_vector<std::size_t>> machines;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (is_usable(i) && !machine_of(ranks_[i]).empty() && !ranks_[i].timeline.steps.empty()) machines[machine_of(ranks_[i])].push_back(i);
    }
    for (auto& [machine, all] : machines) {
      auto const& ranks = ranks_;
      own_stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return begin_of(ranks[a]) < begin_of(ranks[b]); });
      own_vector<own_vector<std::size_t>> sets;
      timestamp end = timestamp::min();
      for (std::size_t const each : all) {
        if (sets.empty() || begin_of(ranks_[each]) > end) sets.emplace_back();
        sets.back().push_back(each);
        end = std::max(end, ranks_[each].timeline.steps.back().host.end);
      }
      // Of equally large sets, the last one.
      auto const most = std::max_element(sets.rbegin(), sets.rend(), [](auto const& a, auto const& b) { return a.size() < b.size(); });
      std::set<std::uint64_t> const ids = sets.size() > 1 ? ids_of(*most) : std::set<std::uint64_t>{};
      for (auto const& set : sets) {
        if (&set == &*most) continue;
        for (std::size_t const each : set) {
          if (!shares_id(ranks_[each], ids))
            ranks_[each].problem = std::string{"it ran at another time than the other ranks of its host"} + advice;
        }
      }
    }
  }

  static timestamp begin_of(job_rank const& rank) { return rank.timeline.steps.front().host.begin; }

  /// The ids of the communicators of NCCL of some ranks.
  [[nodiscard]] std::set<std::uint64_t> ids_of(own_vector<std::size_t> const& set) const {
    std::set<std::uint64_t> result;
    for (std::size_t const each : set) {
      for (collective_kind const& kind : ranks_[each].timeline.kinds) {
        if (kind.communicator != 0 && !kind.is_host) result.insert(kind.communicator);
      }
    }
    return result;
  }

  static bool shares_id(job_rank const& rank, std::set<std::uint64_t> const& ids) {
    auto const& kinds = rank.timeline.kinds;
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](collective_kind const& kind) { return !kind.is_host && ids.count(kind.communicator) > 0; });
  }

  own_vector<job_rank>& ranks_;
  own_vector<std::size_t> set_of_;  ///< by position: another rank of the same set of connected ranks, or the rank itself
};

}  // namespace PROFKIT_NAMESPACE::detail
