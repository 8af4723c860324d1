// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "../../profile/time.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "straggler.hpp"

namespace profkit::detail {

/// Finds the rank for which the others wait in the compared steps, and the one for which they waited in the warm-up.
class straggler_search {
 public:
  /// All arguments are borrowed.
  /// @param all the matched collectives.
  /// @param compared indices of the compared steps.
  /// @param last_of the ranks that started last, by position, with their collectives.
  straggler_search(std::vector<job_rank> const& ranks, std::vector<matched_collective> const& all, std::set<std::uint64_t> const& compared,
                   std::vector<std::pair<std::uint32_t, matched_collective const*>> const& last_of)
      : ranks_{ranks}, all_{all}, compared_{compared}, last_of_{last_of} {}

  /// Sets `straggler` and `startup`. All other members of the ranks and maps must be filled.
  void fill(job_summary& to) const {
    std::vector<std::vector<double>> held(ranks_.size());
    for (std::size_t step = 0; step < to.held.steps.size(); ++step) {
      if (compared_.count(to.held.steps[step]) == 0) {
        if (step < to.warmup_steps) find_startup(to, step);
        continue;
      }
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) held[rank].push_back(to.held.values[rank][step].value_or(0.0));
    }
    std::map<std::vector<std::size_t>, std::optional<straggler_summary>> known;  // by candidate
    auto const excess_of = [&](std::vector<std::size_t> const& which) -> std::optional<straggler_summary> const& {
      auto const [at, is_new] = known.try_emplace(which);
      if (is_new) at->second = find_excess(which);
      return at->second;
    };
    std::vector<std::size_t> const found =
        holding_ranks{held, to.ranks}.find(to.step.count(), to.clocks.bound.count(),
                                           [&](auto const& which) { return excess_of(which) ? excess_of(which)->excess.count() : 0.0; });
    if (found.empty()) return;
    to.straggler = excess_of(found).value_or(straggler_summary{});
    to.straggler->rank = found.front();
    if (to.straggler->excess.count() <= 0.0) to.straggler->also.assign(found.begin() + 1, found.end());
    to.straggler->is_whole_host = is_whole_host(ranks_, *to.straggler);
  }

 private:
  /// @param holding positions of the ranks for which the others wait.
  [[nodiscard]] std::optional<straggler_summary> find_excess(std::vector<std::size_t> const& holding) const {
    excess_finder finder{ranks_, holding};
    std::set<matched_collective const*> late;
    for (auto const& [rank, what] : last_of_) {
      if (std::find(holding.begin(), holding.end(), rank) != holding.end()) late.insert(what);
    }
    for (matched_collective const& each : all_) {
      bool const is_compared = each.is_complete && !each.is_contradictory && each.is_measured;
      if (is_compared && compared_.count(collective_of(ranks_, each.on.front()).step) > 0) finder.add(each, late.count(&each) > 0);
    }
    return finder.find(compared_.size());
  }

  static std::optional<std::size_t> worst_of(job_map const& held, std::size_t step) {
    std::optional<std::size_t> worst;
    double most = 0.0;
    for (std::size_t rank = 0; rank < held.values.size(); ++rank) {
      double const value = held.values[rank][step].value_or(0.0);
      if (value > most) worst = rank;
      most = std::max(most, value);
    }
    return worst;
  }

  void find_startup(job_summary& to, std::size_t step) const {
    auto const rank = worst_of(to.held, step);
    if (!rank) return;
    milliseconds const waiting{*to.held.values[*rank][step]};
    if (waiting < to.step || (to.startup && waiting <= to.startup->waiting)) return;
    to.startup = startup_wait_summary{*rank, to.held.steps[step], waiting};
  }

  std::vector<job_rank> const& ranks_;
  std::vector<matched_collective> const& all_;
  std::set<std::uint64_t> const& compared_;
  std::vector<std::pair<std::uint32_t, matched_collective const*>> const& last_of_;
};

}  // namespace profkit::detail
