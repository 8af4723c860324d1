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
#include "../verdict/mean_interval.hpp"
#include "../verdict/outliers.hpp"
#include "collective_waits.hpp"
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
inline std::vector<std::string> prefixes_of(std::string const& path) {
  std::vector<std::string> result;
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
  excess_finder(std::vector<job_rank> const& ranks, std::vector<std::size_t> const& holding)
      : ranks_{ranks}, rank_{static_cast<std::uint32_t>(holding.front())}, is_holding_(ranks.size()) {
    for (std::size_t const each : holding) is_holding_[each] = true;
  }

  /// Adds a collective of a compared step.
  /// @param is_late whether one of the holding ranks started it last.
  void add(matched_collective const& what, bool is_late) {
    compared_.push_back(&what);
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
    std::vector<bool> counts;
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
  static void add_medians(std::map<std::string, scope_excess>& to, std::map<std::string, std::vector<double>>& times, std::size_t others) {
    for (auto& [path, each] : times) {
      each.resize(std::max(each.size(), others));
      to[path].others += median_in(each);
    }
  }

  std::vector<job_rank> const& ranks_;
  std::uint32_t rank_;
  times_by_scope late_;  ///< before the collectives that the rank started last
  times_by_scope all_;
  std::vector<bool> is_holding_;                     ///< by rank
  std::vector<matched_collective const*> compared_;  ///< all added collectives
  bool is_host_only_ = false;
};

/// Whether the ranks for which the others wait are all ranks of their host, and the others are on other hosts.
inline bool is_whole_host(std::vector<job_rank> const& ranks, straggler_summary const& straggler) {
  std::string const& host = ranks[straggler.rank].environment.host;
  auto const is_on = [&](std::size_t rank) { return ranks[rank].environment.host == host; };
  auto const on_host = std::count_if(ranks.begin(), ranks.end(), [&](job_rank const& each) { return each.environment.host == host; });
  auto const slow = static_cast<std::ptrdiff_t>(straggler.also.size() + 1);
  bool const is_there_only = std::all_of(straggler.also.begin(), straggler.also.end(), is_on);
  return !host.empty() && slow > 1 && is_there_only && on_host == slow && slow < static_cast<std::ptrdiff_t>(ranks.size());
}

/// Clips values at 3 robust standard deviations from the median, so that single long values do not dominate the mean.
inline std::vector<double> without_extremes(std::vector<double> values) {
  constexpr double max_deviations = 3.0;
  std::optional<median_spread> const spread = median_and_mad(values);
  if (!spread) return values;
  double const limit = max_deviations * robust_deviation(values, *spread);
  for (double& value : values) value = std::clamp(value, spread->median - limit, spread->median + limit);
  return values;
}

/// Finds the ranks for which the others wait, from the waits that each rank imposes in each step.
class holding_ranks {
 public:
  /// @param held by rank: the imposed waits in each compared step, in ms.
  /// @param ranks the ranks; `host` and `imposed_exposed` must be filled.
  holding_ranks(std::vector<std::vector<double>> const& held, std::vector<job_rank_summary> const& ranks)
      : held_{held}, ranks_{ranks}, order_(held.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::vector<double> const& each : held) means_.push_back(std::accumulate(each.begin(), each.end(), 0.0) / steps());
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return means_[a] > means_[b]; });
  }

  /// Ranks that are equally slow take turns in starting last. So three candidates are tried in this order: the ranks before the largest
  /// drop of the imposed waits, the first rank alone, and all ranks of its host.
  ///
  /// A candidate is accepted if the waits that it imposes are long, cost time, are at least twice those of the other ranks, and are not due
  /// to chance. Long means at least 2 % of the step and at least 3 times the clocks' bound.
  ///
  /// They cost time if at least 2 % of the step remain without the time in which the waiting GPUs have other work, or if the candidate
  /// takes so much longer than the others in one scope. Otherwise its delay may be hidden. The second condition is needed because a
  /// collective that waits on a GPU takes processors from the work beside it. On two H100, a GPU that was 3 ms slower in each step of 101
  /// ms made the computing of the other one 3 ms longer, and left it only 0.6 ms without work.
  ///
  /// Random delays hit all ranks alike, and a busy host delays the same rank for some steps. So the mean distance to the others, without
  /// extremes, must be at least 2.5 half-widths of its 95 % interval, which accounts for autocorrelation. With fewer than
  /// `min_steps_for_straggler` steps, any delay may be chance.
  /// @param excess_of the time by which a candidate (a list of positions) takes longer than the others in one scope, in ms a step.
  /// @return positions, longest imposed waits first; empty if no candidate is accepted.
  template <class ExcessOf>
  [[nodiscard]] std::vector<std::size_t> find(double step, double bound, ExcessOf const& excess_of) const {
    if (!can_be_judged()) return {};
    std::size_t count = 1;
    for (std::size_t i = 2; i <= held_.size() / 2; ++i) {
      if (drop_after(i) > drop_after(count)) count = i;
    }
    std::vector<std::size_t> on_host;
    for (std::size_t const each : order_) {
      if (ranks_[each].host == ranks_[order_.front()].host) on_host.push_back(each);
    }
    if (on_host.size() > held_.size() / 2) on_host.clear();
    std::vector<std::size_t> const before_drop{order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count)};
    for (std::vector<std::size_t> const& each : {before_drop, {order_.front()}, on_host}) {
      if (!each.empty() && judge(each, step, bound, excess_of) == lateness::steady) return each;
    }
    return {};
  }

  /// If no candidate is accepted: the rank with the longest imposed waits, if only chance speaks against it. Parameters as in `find`.
  template <class ExcessOf>
  [[nodiscard]] std::optional<std::size_t> find_irregular(double step, double bound, ExcessOf const& excess_of) const {
    if (!can_be_judged() || judge({order_.front()}, step, bound, excess_of) != lateness::irregular) return std::nullopt;
    return order_.front();
  }

  /// Whether waits of this length are a considerable part of a step.
  [[nodiscard]] static bool is_long(double waits, double step, double bound) noexcept {
    constexpr double min_bounds = 3.0;
    return waits >= min_share * step && waits >= min_bounds * bound && waits > 0.0;
  }

 private:
  enum class lateness {
    none,       ///< the others do not wait, the waits cost nothing, or other ranks impose similar ones
    irregular,  ///< it may be chance
    steady
  };

  static constexpr double min_share = 0.02;

  [[nodiscard]] bool can_be_judged() const { return held_.size() > 1 && held_.front().size() >= min_steps_for_straggler; }
  [[nodiscard]] double steps() const { return static_cast<double>(std::max<std::size_t>(held_.front().size(), 1)); }
  [[nodiscard]] double drop_after(std::size_t count) const { return means_[order_[count - 1]] - means_[order_[count]]; }

  template <class ExcessOf>
  [[nodiscard]] lateness judge(std::vector<std::size_t> const& which, double step, double bound, ExcessOf const& excess_of) const {
    constexpr double min_others = 2.0;
    constexpr double min_half_widths = 2.5;
    auto const inside = static_cast<double>(which.size());
    auto const outside = static_cast<double>(held_.size() - which.size());
    std::vector<double> own(held_.front().size());  // by step
    std::vector<double> all(own.size());
    double exposed = 0.0;
    for (std::size_t const each : which) {
      add(own, held_[each]);
      exposed += ranks_[each].imposed_exposed.count();
    }
    for (std::vector<double> const& each : held_) add(all, each);
    double const mean = std::accumulate(own.begin(), own.end(), 0.0) / steps();
    double const others = (std::accumulate(all.begin(), all.end(), 0.0) / steps() - mean) / outside;
    std::vector<double> distances;
    for (std::size_t k = 0; k < own.size(); ++k) distances.push_back(own[k] / inside - (all[k] - own[k]) / outside);
    std::optional<mean_interval> const distance = interval_of_mean(without_extremes(std::move(distances)));
    bool const is_chance = !distance || distance->mean < min_half_widths * distance->cautious_half_width;
    if (!is_long(mean, step, bound) || mean / inside < min_others * others) return lateness::none;
    if (exposed < min_share * step && excess_of(which) < min_share * step) return lateness::none;
    return is_chance ? lateness::irregular : lateness::steady;
  }

  static void add(std::vector<double>& to, std::vector<double> const& more) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += more[k];
  }

  std::vector<std::vector<double>> const& held_;
  std::vector<job_rank_summary> const& ranks_;
  std::vector<std::size_t> order_;  ///< positions of the ranks, by `means_`, largest first
  std::vector<double> means_;       ///< mean imposed wait, by rank
};

}  // namespace profkit::detail
