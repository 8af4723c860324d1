// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/profile/own_sort.hpp>

#include "job_summary.hpp"

namespace profkit::detail {

/// The ranks that a report shows first: all; beyond 16, those that impose the longest waits and those with the slowest hosts.
inline own_vector<std::size_t> shown_ranks(job_summary const& job) {
  constexpr std::size_t max_all = 16;
  constexpr std::size_t holding = 8;
  constexpr std::size_t slow = 4;
  own_vector<std::size_t> all(job.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= max_all) return all;
  own_vector<std::size_t> result;
  auto const take = [&](std::size_t count, auto const& value_of) {
    own_stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return value_of(job.ranks[a]) > value_of(job.ranks[b]); });
    for (std::size_t i = 0; i < count; ++i) {
      if (std::find(result.begin(), result.end(), all[i]) == result.end()) result.push_back(all[i]);
    }
  };
  take(holding, [](job_rank_summary const& each) { return each.imposed; });
  take(slow, [](job_rank_summary const& each) { return each.host_pace; });
  return result;
}

}  // namespace profkit::detail
