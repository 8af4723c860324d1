// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <utility>

#include "excess_finder.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "straggler_rule.hpp"
#include "wait_union.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A collective of a compared step in which the others waited, with the rank that started it last.
struct last_start {
  std::uint32_t rank = 0;                    ///< position in the list of ranks
  bool is_lead_known = false;                ///< it started later than the second latest rank by more than the clocks' bound
  matched_collective const* what = nullptr;  ///< borrowed
};

/// Whether the ranks for which the others wait are all ranks of their host, and the others are on other hosts.
inline bool is_whole_host(own_vector<job_rank> const& ranks, straggler_summary const& straggler) {
  std::string const& host = ranks[straggler.rank].environment.host;
  auto const is_on = [&](std::size_t rank) { return ranks[rank].environment.host == host; };
  auto const on_host = std::count_if(ranks.begin(), ranks.end(), [&](job_rank const& each) { return each.environment.host == host; });
  auto const slow = static_cast<std::ptrdiff_t>(straggler.also.size() + 1);
  bool const is_there_only = std::all_of(straggler.also.begin(), straggler.also.end(), is_on);
  return !host.empty() && slow > 1 && is_there_only && on_host == slow && slow < static_cast<std::ptrdiff_t>(ranks.size());
}

/// Finds the rank for which the others wait in the compared steps, and the one for which they waited in the warm-up.
class straggler_search {
 public:
  /// All arguments are borrowed.
  /// @param all the matched collectives.
  /// @param compared indices of the compared steps.
  /// @param last_starts approximately in order of time.
  /// @param caused by the rank that caused the waits, in the compared steps.
  straggler_search(own_vector<job_rank> const& ranks, own_vector<matched_collective> const& all, std::set<std::uint64_t> const& compared,
                   own_vector<last_start> const& last_starts, own_vector<waits_for_rank> const& caused)
      : ranks_{ranks}, all_{all}, compared_{compared}, last_starts_{last_starts}, caused_{caused} {}

  /// Sets `straggler`, `unproven_host` and `startup`. The other members about ranks and steps must be filled.
  void fill(job_summary& to) const {
    rank_steps held(ranks_.size());
    std::map<std::uint64_t, std::size_t> position_of;  // in the list of compared steps
    for (std::size_t step = 0; step < to.held.steps.size(); ++step) {
      if (compared_.count(to.held.steps[step]) == 0) {
        if (step < to.warmup_steps) find_startup(to, step);
        continue;
      }
      position_of.emplace(to.held.steps[step], position_of.size());
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) held[rank].push_back(to.held.values[rank][step].value_or(0.0));
    }
    std::map<matched_collective const*, std::uint32_t> last;
    for (last_start const& each : last_starts_) last.emplace(each.what, each.rank);
    own_vector<work_of_ranks::entry> entries;
    own_vector<matched_collective> const by_step = has_messages() ? steps_of_ranks(position_of) : own_vector<matched_collective>{};
    for (std::size_t step = 0; step < by_step.size(); ++step) {
      if (!by_step[step].on.empty()) entries.push_back({&by_step[step], step, awaited_in(held, step), true});
    }
    for (matched_collective const& each : all_) {
      if (!is_compared(each) || !by_step.empty()) continue;
      auto const late = last.find(&each);
      entries.push_back({&each, position_of.at(collective_of(ranks_, each.on.front()).step),
                         late == last.end() ? std::nullopt : std::optional{late->second}, false});
    }
    work_of_ranks work{ranks_, std::move(entries), compared_};
    std::map<std::string, std::size_t> hosts;
    own_vector<std::size_t> host_of;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      std::string const& host = ranks_[i].environment.host;
      host_of.push_back(hosts.try_emplace(host.empty() ? std::to_string(i) : host, hosts.size()).first->second);
    }
    straggler_rule<work_of_ranks> rule{work, held, host_of, to.clocks.bound.count()};
    std::optional<delaying_ranks> const found = rule.find();
    if (found) {
      to.straggler = summary_of(*found, work.is_host_only());
      to.straggler->is_whole_host = is_whole_host(ranks_, *to.straggler);
      add_waits(*to.straggler, milliseconds{found->whole});
    } else if (rule.unproven()) {
      to.unproven_host = unproven_host_summary{rule.unproven()->rank, milliseconds{rule.unproven()->excess}};
    }
  }

 private:
  static straggler_summary summary_of(delaying_ranks const& found, bool is_host_only) {
    straggler_summary result;
    result.rank = found.ranks.front();
    result.also.assign(found.ranks.begin() + 1, found.ranks.end());
    result.path = found.path;
    result.is_gpu_time = found.is_gpu;
    result.is_host_only = is_host_only;
    result.own = milliseconds{found.own};
    result.excess = milliseconds{found.excess};
    result.excess_low = milliseconds{found.low};
    result.excess_high = milliseconds{found.high};
    result.others = milliseconds{std::max(0.0, found.own - found.excess)};
    result.steps = found.steps;
    return result;
  }

  [[nodiscard]] bool has_messages() const {
    return std::any_of(all_.begin(), all_.end(), [&](matched_collective const& each) { return each.is_message && is_compared(each); });
  }

  /// Ranks that exchange messages are compared by step, because a message has only two ranks.
  /// @return by compared step: the first collective or message of each rank.
  [[nodiscard]] own_vector<matched_collective> steps_of_ranks(std::map<std::uint64_t, std::size_t> const& position_of) const {
    own_vector<matched_collective> result(position_of.size());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      auto const& all = ranks_[rank].timeline.collectives;
      for (std::uint32_t i = 0; i < all.size(); ++i) {
        auto const at = i > 0 && all[i - 1].step == all[i].step ? position_of.end() : position_of.find(all[i].step);
        if (at != position_of.end()) result[at->second].on.push_back({rank, i});
      }
    }
    return result;
  }

  /// The rank for which the others waited longest in a step.
  static std::optional<std::uint32_t> awaited_in(rank_steps const& held, std::size_t step) {
    std::optional<std::uint32_t> result;
    for (std::uint32_t rank = 0; rank < held.size(); ++rank) {
      if (held[rank][step] > (result ? held[*result][step] : 0.0)) result = rank;
    }
    return result;
  }

  [[nodiscard]] bool is_compared(matched_collective const& what) const {
    if (!what.is_common || what.is_contradictory || !what.is_measured) return false;
    return compared_.count(collective_of(ranks_, what.on.front()).step) > 0;
  }

  /// Adds the waits of the other ranks for the straggler and the ranks named with it.
  /// @param whole its excess in all scopes. On a busy host, the others are often late to wait, although they do not work.
  void add_waits(straggler_summary& to, milliseconds whole) const {
    own_vector<bool> is_named(ranks_.size());
    is_named[to.rank] = true;
    for (std::size_t const each : to.also) is_named[each] = true;
    wait_sums sums;
    double others = 0.0;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      bool can_wait = false;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (is_named[i] || !is_named[rank]) continue;
        waits_for_rank const& caused = caused_[rank];
        can_wait = can_wait || (!caused.can_wait.empty() && caused.can_wait[i]);
        if (!caused.sums.empty()) sums += caused.sums[i];
      }
      others += can_wait ? 1.0 : 0.0;
    }
    auto const led = static_cast<double>(std::count_if(last_starts_.begin(), last_starts_.end(),
                                                       [&](last_start const& each) { return is_named[each.rank] && each.is_lead_known; }));
    if (others > 0.0) {
      double const all_steps = others * static_cast<double>(compared_.size());
      to.imposed = sums.waiting / all_steps;
      to.imposed_exposed = sums.exposed / all_steps;
    }
    auto const count = std::count_if(all_.begin(), all_.end(), [&](matched_collective const& each) {
      return is_compared(each) && each.is_complete && !each.is_message &&
             std::any_of(each.on.begin(), each.on.end(), [&](participant const& one) { return is_named[one.rank]; });
    });
    if (count > 0) to.last_share = led / static_cast<double>(count);
    to.delay = std::min(to.excess, to.is_host_only ? std::max(to.imposed, whole) : to.imposed);
    to.delay_low = to.excess_low * (to.delay / to.excess);
    to.delay_high = to.excess_high * (to.delay / to.excess);
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

  own_vector<job_rank> const& ranks_;
  own_vector<matched_collective> const& all_;
  std::set<std::uint64_t> const& compared_;
  own_vector<last_start> const& last_starts_;
  own_vector<waits_for_rank> const& caused_;
};

}  // namespace PROFKIT_NAMESPACE::detail
