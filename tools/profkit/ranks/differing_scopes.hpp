// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <set>
#include <string>
#include <utility>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "slow_host.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The mean GPU time of each scope per step. A scope cannot be compared if only some ranks charged its time to its parent.
inline std::map<std::string, double> gpu_paces(job_rank const& rank, std::set<std::uint64_t> const& steps) {
  std::map<std::string, double> result;
  double count = 0.0;
  for (timeline_step const& step : rank.timeline.steps) {
    if (steps.count(step.index) == 0) continue;
    count += 1.0;
    for (path_time const& each : step.gpu) result[rank.timeline.paths[each.path]] += static_cast<double>(each.time.count()) * 1e-6;
  }
  for (auto& [path, time] : result) time /= count;
  return result;
}

/// The scopes whose time on a rank differs from the median of all ranks by over 25 % and by over 1 % of the step. The largest differences
/// come first. Children of the step are compared by the lower quartile of their host time: with a full launch queue, the mean host time
/// equals GPU time.
/// @param steps indices of the compared steps.
inline own_vector<scope_difference_summary> find_differing_scopes(own_vector<job_rank> const& ranks, std::set<std::uint64_t> const& steps,
                                                                  milliseconds step) {
  constexpr double min_share = 0.25;
  constexpr double min_share_of_step = 0.01;
  constexpr std::size_t max_count = 100;
  own_vector<scope_difference_summary> result;
  auto const compare = [&](bool is_gpu_time, auto const& times_of) {
    std::map<std::string, own_vector<std::pair<double, std::size_t>>> all;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (auto const& [path, time] : times_of(ranks[i])) all[path].emplace_back(time, i);
    }
    for (auto& [path, times] : all) {
      double median = 0.0;
      std::size_t const middle = (ranks.size() - 1) / 2;  // with two ranks: the shorter time
      // A rank without the path spent no time in it. With a median of 0, such ranks do not differ from it.
      if (std::size_t const zeros = ranks.size() - times.size(); middle >= zeros) {
        std::set<std::size_t> known;
        for (auto const& each : times) known.insert(each.second);
        for (std::size_t i = 0; zeros > 0 && i < ranks.size(); ++i) {
          if (known.count(i) == 0) times.emplace_back(0.0, i);
        }
        auto const at = times.begin() + static_cast<std::ptrdiff_t>(middle);
        std::nth_element(times.begin(), at, times.end());
        median = at->first;
      }
      for (auto const& [time, rank] : times) {
        double const difference = std::abs(time - median);
        if (difference <= min_share * median || difference <= min_share_of_step * step.count()) continue;
        result.push_back({path, rank, is_gpu_time, milliseconds{time}, milliseconds{median}});
      }
    }
  };
  compare(false, [&](job_rank const& rank) { return stage_paces(rank, steps); });
  compare(true, [&](job_rank const& rank) { return gpu_paces(rank, steps); });
  auto const difference = [](scope_difference_summary const& scope) { return std::abs((scope.own - scope.others).count()); };
  own_stable_sort(result.begin(), result.end(), [&](auto const& a, auto const& b) {
    return difference(a) != difference(b) ? difference(a) > difference(b) : a.rank < b.rank;
  });
  if (result.size() > max_count) result.resize(max_count);
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
