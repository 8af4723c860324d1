// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <string>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace profkit::detail {

/// Times in a scope, on one rank and on the others.
struct scope_excess {
  double own = 0.0;     ///< ns
  double others = 0.0;  ///< ns; sum of the medians over the other ranks
};

/// @return the parts of a path from the root: "a", "a/b", "a/b/c" for "a/b/c"; "" for "".
inline own_vector<std::string> prefixes_of(std::string const& path) {
  own_vector<std::string> result;
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) result.push_back(path.substr(0, at));
  result.push_back(path);
  return result;
}

/// Finds the innermost scope with at least half of the excess of all scopes.
/// @param times by innermost path.
/// @return the path and its times; n/a if no scope has an excess.
inline std::optional<std::pair<std::string, scope_excess>> scope_with_excess(std::map<std::string, scope_excess> const& times) {
  std::map<std::string, scope_excess> inclusive;
  double total = 0.0;
  for (auto const& [path, each] : times) {
    total += std::max(0.0, each.own - each.others);
    for (std::string const& prefix : prefixes_of(path)) {
      inclusive[prefix].own += each.own;
      inclusive[prefix].others += each.others;
    }
  }
  if (total <= 0.0) return std::nullopt;
  constexpr double share = 0.5;
  auto const depth = [](std::string const& path) { return std::count(path.begin(), path.end(), '/'); };
  std::optional<std::pair<std::string, scope_excess>> result;
  for (auto const& each : inclusive) {
    double const excess = each.second.own - each.second.others;
    if (excess < share * total) continue;
    bool const is_better = !result || depth(each.first) > depth(result->first) ||
                           (depth(each.first) == depth(result->first) && excess > result->second.own - result->second.others);
    if (is_better) result = each;
  }
  return result;
}

/// Finds the scope in which a rank spent more time than the others before the collectives that it started last, and the total excess.
class excess_finder {
 public:
  /// @param holding positions of the ranks for which the others wait: first the rank to examine; none of them counts as another rank.
  excess_finder(own_vector<job_rank> const& ranks, own_vector<std::size_t> const& holding)
      : ranks_{ranks}, rank_{static_cast<std::uint32_t>(holding.front())}, is_holding_(ranks.size()) {
    for (std::size_t const each : holding) is_holding_[each] = true;
  }

  /// Adds a collective of a compared step.
  /// @param is_late whether one of the holding ranks started it last.
  void add(matched_collective const& what, bool is_late) {
    compared_.push_back(&what);
    std::map<std::string, own_vector<double>> busy;
    std::map<std::string, own_vector<double>> idle;
    timeline_collective const* own = nullptr;
    std::size_t const stride = stride_of_sample(what.on.size());
    std::size_t others = 0;
    for (std::size_t i = 0; i < what.on.size(); ++i) {
      participant const& each = what.on[i];
      timeline_collective const& one = collective_of(ranks_, each);
      if (each.rank == rank_) {
        own = &one;
        continue;
      }
      if (i % stride != 0 || is_holding_[each.rank]) continue;
      ++others;
      for (path_time const& share : one.busy) busy[path(each.rank, share)].push_back(ns(share));
      for (path_time const& share : one.idle) idle[path(each.rank, share)].push_back(ns(share));
    }
    if (own == nullptr || others == 0) return;
    for (times_by_scope* const to : {&all_, is_late ? &late_ : nullptr}) {
      if (to == nullptr) continue;
      for (path_time const& share : own->busy) to->busy[path(rank_, share)].own += ns(share);
      for (path_time const& share : own->idle) to->idle[path(rank_, share)].own += ns(share);
      add_medians(to->busy, busy, others);
      add_medians(to->idle, idle, others);
    }
    if (ranks_[rank_].timeline.kinds[own->kind].is_host) is_host_only_ = true;
  }

  /// @param steps number of compared steps.
  [[nodiscard]] std::optional<straggler_summary> find(std::uint64_t steps) const {
    auto const busy = scope_with_excess(late_.busy);
    auto const idle = scope_with_excess(late_.idle);
    if ((!busy && !idle) || steps == 0) return std::nullopt;
    auto const excess = [](auto const& found) { return found ? found->second.own - found->second.others : 0.0; };
    bool const is_gpu = excess(busy) >= excess(idle);
    std::string const& path = (is_gpu ? busy : idle)->first;
    scope_excess const times = time_in(path, is_gpu ? all_.busy : all_.idle);
    auto const per_step = [&](double time) { return milliseconds{time * 1e-6 / static_cast<double>(steps)}; };
    straggler_summary result;
    result.rank = rank_;
    result.path = path;
    result.is_gpu_time = is_gpu;
    result.is_host_only = is_host_only_;
    result.own = per_step(times.own);
    result.others = per_step(times.others);
    result.excess = result.own - result.others;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (i == rank_) continue;
      constexpr double share = 0.5;
      milliseconds const more = per_step(time_of(i, path, is_gpu)) - result.others;
      if (result.excess.count() > 0.0 && more >= share * result.excess) result.also.push_back(i);
    }
    return result;
  }

 private:
  struct times_by_scope {
    std::map<std::string, scope_excess> busy;
    std::map<std::string, scope_excess> idle;
  };

  /// The time in a scope, including the scopes inside it.
  static scope_excess time_in(std::string const& scope, std::map<std::string, scope_excess> const& times) {
    scope_excess result;
    for (auto const& [path, each] : times) {
      if (!is_in(scope, path)) continue;
      result.own += each.own;
      result.others += each.others;
    }
    return result;
  }

  static bool is_in(std::string const& scope, std::string const& path) {
    return path == scope || (path.size() > scope.size() && path.compare(0, scope.size(), scope) == 0 && path[scope.size()] == '/');
  }

  /// The time of any rank in a scope, including the scopes inside it, before the collectives that were added. They may be those of other
  /// communicators than the examined rank's.
  [[nodiscard]] double time_of(std::size_t rank, std::string const& scope, bool is_gpu) const {
    rank_timeline const& timeline = ranks_[rank].timeline;
    own_vector<bool> counts;
    for (std::string const& each : timeline.paths) counts.push_back(is_in(scope, each));
    double result = 0.0;
    for (matched_collective const* const what : compared_) {
      auto const at = std::lower_bound(what->on.begin(), what->on.end(), rank,
                                       [](participant const& a, std::size_t wanted) { return a.rank < wanted; });
      if (at == what->on.end() || at->rank != rank) continue;
      timeline_collective const& one = collective_of(ranks_, *at);
      for (path_time const& each : is_gpu ? one.busy : one.idle) result += counts[each.path] ? ns(each) : 0.0;
    }
    return result;
  }

  static double ns(path_time const& time) { return static_cast<double>(time.time.count()); }
  [[nodiscard]] std::string const& path(std::uint32_t rank, path_time const& time) const { return ranks_[rank].timeline.paths[time.path]; }

  /// @param times times of the other ranks; a rank without a path spent no time in it.
  static void add_medians(std::map<std::string, scope_excess>& to, std::map<std::string, own_vector<double>>& times, std::size_t others) {
    for (auto& [path, each] : times) {
      each.resize(std::max(each.size(), others));
      to[path].others += median_in(each);
    }
  }

  own_vector<job_rank> const& ranks_;
  std::uint32_t rank_;
  times_by_scope late_;  ///< before the collectives that the rank started last
  times_by_scope all_;
  own_vector<bool> is_holding_;                     ///< by rank
  own_vector<matched_collective const*> compared_;  ///< all added collectives
  bool is_host_only_ = false;
};

}  // namespace profkit::detail
