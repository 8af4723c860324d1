// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>

#include "job_summary.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The ranks that a report shows first: up to 8, all in order. Beyond, those that it names, and the ranks with the longest, the median and
/// the shortest time of their own, without collectives.
inline own_vector<std::size_t> shown_ranks(job_summary const& job) {
  constexpr std::size_t max_all = 8;
  own_vector<std::size_t> all(job.ranks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= max_all) return all;
  own_vector<std::size_t> result;
  auto const add = [&](std::size_t rank) {
    if (std::find(result.begin(), result.end(), rank) == result.end()) result.push_back(rank);
  };
  if (job.straggler) {
    add(job.straggler->rank);
    for (std::size_t const each : job.straggler->also) {
      if (result.size() < max_all) add(each);
    }
  }
  if (job.unproven_host) add(job.unproven_host->rank);
  if (job.slow_host) add(job.slow_host->rank);
  if (job.startup) add(job.startup->rank);
  auto const sort_by = [&](auto const& value_of) {
    own_stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) { return value_of(job.ranks[a]) > value_of(job.ranks[b]); });
  };
  sort_by([](job_rank_summary const& each) { return each.imposed; });
  add(all.front());
  sort_by([](job_rank_summary const& each) { return each.compute + each.idle; });
  for (std::size_t const at : {std::size_t{0}, all.size() / 2, all.size() - 1}) add(all[at]);
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
