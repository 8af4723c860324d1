// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../profile/time.hpp"
#include "collective_waits.hpp"
#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"

namespace profkit::detail {

/// Times by scope, of one rank and of the others.
struct scope_excess {
  double own = 0.0;     ///< ns
  double others = 0.0;  ///< ns; sum of the medians
};

/// @return the parts of a path from the root: "a", "a/b", "a/b/c" for "a/b/c"; "" for "".
inline std::vector<std::string> prefixes_of(std::string const& path) {
  std::vector<std::string> result;
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) result.push_back(path.substr(0, at));
  result.push_back(path);
  return result;
}

/// Finds the innermost scope with at least half of the excess of all scopes.
/// @param times by innermost path.
/// @return the path and its times; n/a if nothing is in excess.
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

/// Finds the scope in which a rank spent more time than the others before the collectives where it came last, and how much in all.
class excess_finder {
 public:
  excess_finder(std::vector<job_rank> const& ranks, std::size_t rank) : ranks_{ranks}, rank_{static_cast<std::uint32_t>(rank)} {}

  /// Adds a collective of a compared step.
  /// @param is_late whether the rank came last to it.
  void add(matched_collective const& what, bool is_late) {
    std::map<std::string, std::vector<double>> busy;
    std::map<std::string, std::vector<double>> idle;
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
      if (i % stride != 0) continue;
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

  /// @param steps number of steps that were compared.
  [[nodiscard]] std::optional<straggler_summary> find(std::uint64_t steps) const {
    auto const busy = scope_with_excess(late_.busy);
    auto const idle = scope_with_excess(late_.idle);
    if ((!busy && !idle) || steps == 0) return std::nullopt;
    auto const excess = [](auto const& of) { return of ? of->second.own - of->second.others : 0.0; };
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
    return result;
  }

 private:
  struct times_by_scope {
    std::map<std::string, scope_excess> busy;
    std::map<std::string, scope_excess> idle;
  };

  /// The time in a scope and in all that it contains.
  static scope_excess time_in(std::string const& scope, std::map<std::string, scope_excess> const& times) {
    scope_excess result;
    for (auto const& [path, each] : times) {
      if (path != scope && path.rfind(scope + "/", 0) != 0) continue;
      result.own += each.own;
      result.others += each.others;
    }
    return result;
  }

  static double ns(path_time const& of) { return static_cast<double>(of.time.count()); }
  [[nodiscard]] std::string const& path(std::uint32_t rank, path_time const& of) const { return ranks_[rank].timeline.paths[of.path]; }

  /// @param times of the others; a rank without a path spent no time in it.
  static void add_medians(std::map<std::string, scope_excess>& to, std::map<std::string, std::vector<double>>& times, std::size_t others) {
    for (auto& [path, each] : times) {
      each.resize(std::max(each.size(), others));
      to[path].others += median_in(each);
    }
  }

  std::vector<job_rank> const& ranks_;
  std::uint32_t rank_;
  times_by_scope late_;  ///< before the collectives to which the rank came last
  times_by_scope all_;
  bool is_host_only_ = false;
};

/// The rank that holds the others up: for at least 2 % of the step and 3 times the clocks' bound, at least twice as long as the others do
/// on average, and not by chance: chance delays hit all ranks alike, so the mean distance to the others is at least 4 standard errors.
/// @param held by rank: the imposed waits in each compared step, in ms.
inline std::optional<std::size_t> holds_up(std::vector<std::vector<double>> const& held, double step, double bound) {
  constexpr double min_share = 0.02;
  constexpr double min_bounds = 3.0;
  constexpr double min_others = 2.0;
  constexpr double min_errors = 4.0;
  if (held.size() < 2 || held.front().empty()) return std::nullopt;
  auto const steps = static_cast<double>(held.front().size());
  auto const ranks = static_cast<double>(held.size());
  std::vector<double> mean;
  std::vector<double> sums(held.front().size());  // of all ranks, by step
  for (std::vector<double> const& each : held) {
    double sum = 0.0;
    for (std::size_t i = 0; i < each.size(); ++i) {
      sum += each[i];
      sums[i] += each[i];
    }
    mean.push_back(sum / steps);
  }
  auto const largest = static_cast<std::size_t>(std::max_element(mean.begin(), mean.end()) - mean.begin());
  double const all = std::accumulate(mean.begin(), mean.end(), 0.0);
  double const others = (all - mean[largest]) / (ranks - 1.0);
  double squares = 0.0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double const own = held[largest][i];
    double const distance = own - (sums[i] - own) / (ranks - 1.0) - (mean[largest] - others);
    squares += distance * distance;
  }
  double const error = steps > 1.0 ? std::sqrt(squares / (steps - 1.0) / steps) : 0.0;
  bool const is_long = mean[largest] >= min_share * step && mean[largest] >= min_bounds * bound && mean[largest] > 0.0;
  bool const is_alone = mean[largest] >= min_others * others && mean[largest] - others >= min_errors * error;
  return is_long && is_alone ? std::optional{largest} : std::nullopt;
}

}  // namespace profkit::detail
