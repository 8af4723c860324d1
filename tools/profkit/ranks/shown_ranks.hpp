// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/profile/own_sort.hpp>

#include "job_summary.hpp"

namespace profkit::detail {

/// The ranks that a report shows first: up to 8 all in order. Beyond, those that hold the others up come first; beyond 16, only these,
/// those that impose the longest waits, and those with the slowest hosts are shown.
inline own_vector<std::size_t> shown_ranks(job_summary const& job) {
  constexpr std::size_t max_in_order = 8;
  constexpr std::size_t max_all = 16;
  constexpr std::size_t holding = 8;
  constexpr std::size_t slow = 4;
  own_vector<std::size_t> all(job.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= max_in_order) return all;
  own_vector<std::size_t> result;
  auto const add = [&](std::size_t rank) {
    if (std::find(result.begin(), result.end(), rank) == result.end()) result.push_back(rank);
  };
  if (job.straggler) {
    add(job.straggler->rank);
    for (std::size_t const each : job.straggler->also) {
      if (result.size() < holding) add(each);
    }
  }
  auto const take = [&](std::size_t count, auto const& value_of) {
    own_stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return value_of(job.ranks[a]) > value_of(job.ranks[b]); });
    for (std::size_t i = 0; i < count; ++i) add(all[i]);
  };
  if (all.size() <= max_all) {
    for (std::size_t const each : all) add(each);
    return result;
  }
  take(holding, [](job_rank_summary const& each) { return each.imposed; });
  take(slow, [](job_rank_summary const& each) { return each.host_pace; });
  return result;
}

}  // namespace profkit::detail
