// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/time.hpp>
#include <set>
#include <string>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "matched_collectives.hpp"
#include "rank_clocks.hpp"
#include "slow_host.hpp"
#include "straggler_rule.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// The work of the ranks before the collectives of the compared steps. A `Source` of `straggler_rule`.
class work_of_ranks {
 public:
  /// A collective of a compared step.
  struct entry {
    matched_collective const* what = nullptr;  ///< borrowed
    std::size_t step = 0;                      ///< position in the list of compared steps
    std::optional<std::uint32_t> last;         ///< the rank that the others waited for
    bool is_step = false;                      ///< the work before all collectives and messages of the step; `what` has the first ones
  };

  /// @param ranks borrowed.
  /// @param collectives those of the compared steps.
  /// @param steps the indices of these steps.
  work_of_ranks(own_vector<job_rank> const& ranks, own_vector<entry> collectives, std::set<std::uint64_t> const& steps)
      : ranks_{ranks}, collectives_{std::move(collectives)}, steps_{steps} {
    for (entry const& each : collectives_) is_host_only_ = is_host_only_ || kind_of(each.what->on.front()).is_host;
    own_vector<bool> const counts(ranks.size(), true);
    for (bool const is_gpu : {false, true}) all_[is_gpu ? 1 : 0] = times_of(is_gpu, nullptr, counts);
  }

  /// Whether the collectives ran on the host.
  [[nodiscard]] bool is_host_only() const noexcept { return is_host_only_; }

  [[nodiscard]] work_times const& all(bool is_gpu) const noexcept { return all_[is_gpu ? 1 : 0]; }

  /// The scope in which a rank spent more time than the others before the collectives for which they waited; if there are none, before all.
  [[nodiscard]] std::optional<std::string> scope(bool is_gpu, std::size_t rank, own_vector<bool> const& steps) const {
    for (bool const is_late : {true, false}) {
      std::map<std::string, scope_excess> times;
      for (entry const& each : collectives_) {
        if (steps[each.step] && (!is_late || each.last == rank)) add(times, each, is_gpu, rank);
      }
      if (auto found = scope_with_excess(times)) return std::move(found->first);
    }
    return std::nullopt;
  }

  [[nodiscard]] work_times in(bool is_gpu, std::string const& scope, own_vector<bool> const& counts) const {
    work_times result = times_of(is_gpu, &scope, counts);
    // The GPU waits for the host only for what its queue does not hide, but the whole time of the host differs between processes.
    if (is_gpu || is_host_only_) return result;
    double const host = host_time(scope);
    for (double& each : result.usual) each = std::max(each, host);
    return result;
  }

 private:
  static double ns(path_time const& time) { return static_cast<double>(time.time.count()); }
  [[nodiscard]] std::string const& path(std::uint32_t rank, path_time const& time) const { return ranks_[rank].timeline.paths[time.path]; }
  [[nodiscard]] collective_kind const& kind_of(participant const& one) const {
    return ranks_[one.rank].timeline.kinds[collective_of(ranks_, one).kind];
  }

  /// Visits the times of a rank before a collective, or before those of a step.
  template <class Visit>
  void for_each_time(entry const& work, participant const& one, bool is_gpu, Visit const& visit) const {
    auto const& all = ranks_[one.rank].timeline.collectives;
    for (std::size_t i = one.collective; i < all.size() && all[i].step == all[one.collective].step; ++i) {
      for (path_time const& part : is_gpu ? all[i].busy : all[i].idle) visit(part);
      if (!work.is_step) return;
    }
  }

  static bool is_in(std::string const& scope, std::string const& path) {
    return path == scope || (path.size() > scope.size() && path.compare(0, scope.size(), scope) == 0 && path[scope.size()] == '/');
  }

  /// @param scope null: all scopes.
  /// @param counts by rank: whether it counts as another one.
  [[nodiscard]] work_times times_of(bool is_gpu, std::string const* scope, own_vector<bool> const& counts) const {
    own_vector<own_vector<bool>> is_inside(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      for (std::string const& each : ranks_[i].timeline.paths) is_inside[i].push_back(scope == nullptr || is_in(*scope, each));
    }
    work_times result;
    result.excess.assign(ranks_.size(), own_vector<double>(steps_.size()));
    result.own.assign(ranks_.size(), 0.0);
    result.others.assign(ranks_.size(), 0.0);
    own_vector<double> times;
    own_vector<bool> is_other;
    for (entry const& each : collectives_) {
      times.clear();
      is_other.clear();
      for (participant const& one : each.what->on) {
        double sum = 0.0;
        for_each_time(each, one, is_gpu, [&](path_time const& part) { sum += is_inside[one.rank][part.path] ? 1e-6 * ns(part) : 0.0; });
        times.push_back(sum);
        is_other.push_back(counts[one.rank]);
      }
      own_vector<double> const medians = medians_of_others(times, is_other);
      for (std::size_t i = 0; i < times.size(); ++i) {
        std::uint32_t const rank = each.what->on[i].rank;
        result.excess[rank][each.step] += times[i] - medians[i];
        result.own[rank] += times[i] / static_cast<double>(steps_.size());
        result.others[rank] += medians[i] / static_cast<double>(steps_.size());
      }
    }
    result.usual = result.others;
    return result;
  }

  /// The usual host time of the child of the step around a scope, in ms; without one, that of the step.
  [[nodiscard]] double host_time(std::string const& scope) const {
    std::string const stage = scope.substr(0, scope.find('/', scope.find('/') == std::string::npos ? scope.size() : scope.find('/') + 1));
    own_vector<double> paces;
    for (std::size_t i = 0; i < ranks_.size(); i += stride_of_sample(ranks_.size())) {
      double pace = 0.0;
      for (auto const& [name, time] : stage_paces(ranks_[i], steps_)) {
        if (is_in(stage, name) || stage.find('/') == std::string::npos) pace += time;
      }
      paces.push_back(pace);
    }
    constexpr double middle = 0.5;
    return quantile_in(paces, middle);
  }

  /// Adds the times before a collective, of a rank and of the others.
  void add(std::map<std::string, scope_excess>& to, entry const& work, bool is_gpu, std::size_t rank) const {
    std::map<std::string, own_vector<double>> rest;
    std::map<std::string, double> times;
    own_vector<participant> const& on = work.what->on;
    std::size_t const stride = stride_of_sample(on.size());
    std::size_t others = 0;
    bool has_own = false;
    for (std::size_t i = 0; i < on.size(); ++i) {
      if (i % stride != 0 && on[i].rank != rank) continue;
      times.clear();
      for_each_time(work, on[i], is_gpu, [&](path_time const& part) { times[path(on[i].rank, part)] += ns(part); });
      if (on[i].rank == rank) {
        has_own = true;
        for (auto const& [name, time] : times) to[name].own += time;
      } else {
        ++others;
        for (auto const& [name, time] : times) rest[name].push_back(time);
      }
    }
    if (!has_own || others == 0) return;
    for (auto& [name, each] : rest) {
      each.resize(std::max(each.size(), others));  // a rank without a path spent no time in it
      to[name].others += median_in(each);
    }
  }

  own_vector<job_rank> const& ranks_;
  own_vector<entry> collectives_;
  std::set<std::uint64_t> const& steps_;
  std::array<work_times, 2> all_;
  bool is_host_only_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
