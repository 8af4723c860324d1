// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <profkit/impl/profile/own_memory.hpp>

namespace PROFKIT_NAMESPACE::detail {

/// The contribution of each stage to the longest step of all ranks: the maximum over the ranks of the time until the end of the stage,
/// minus the same maximum for the preceding stage. The parts add up to the longest step. Needs no common clock. Source: StageFrontier,
/// arXiv 2606.06751.
/// @param times by rank, the time of each stage in the order of the stages.
inline own_vector<double> frontier_of(own_vector<own_vector<double>> const& times) {
  std::size_t stages = 0;
  for (auto const& each : times) stages = std::max(stages, each.size());
  own_vector<double> result(stages);
  own_vector<double> until(times.size());
  double before = 0.0;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    double longest = before;
    for (std::size_t rank = 0; rank < times.size(); ++rank) {
      if (stage < times[rank].size()) until[rank] += times[rank][stage];
      longest = std::max(longest, until[rank]);
    }
    result[stage] = longest - before;
    before = longest;
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
