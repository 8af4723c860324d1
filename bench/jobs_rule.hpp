// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "jobs.hpp"
#include "ranks/holding_ranks.hpp"

namespace bench {

/// The answer of the rule about a simulated job.
struct found_straggler {
  std::vector<std::size_t> ranks;  ///< empty: nobody
  double low = 0.0;                ///< interval of the size, ms
  double high = 0.0;
  std::optional<double> bound;  ///< "a step can be at most so much shorter"
};

inline found_straggler find_straggler(job_scenario const& scenario, simulated_job const& job) {
  std::vector<profkit::job_rank_summary> ranks(scenario.ranks);
  profkit::detail::own_vector<profkit::detail::own_vector<double>> held;
  std::vector<double> mean(scenario.ranks);
  for (std::size_t r = 0; r < scenario.ranks; ++r) {
    held.emplace_back(job.held[r].begin(), job.held[r].end());
    ranks[r].imposed_exposed =
        profkit::milliseconds{std::accumulate(held[r].begin(), held[r].end(), 0.0) / static_cast<double>(scenario.steps)};
    ranks[r].host = "host" + std::to_string(r / scenario.per_host);
    for (std::size_t s = 0; s < scenario.steps; ++s) mean[r] += (job.gpu[r][s] + job.host[r][s]) / static_cast<double>(scenario.steps);
  }
  auto const excess = [&](auto const& which) {
    std::vector<double> others;
    for (std::size_t r = 0; r < scenario.ranks; ++r) {
      if (std::find(which.begin(), which.end(), r) == which.end()) others.push_back(mean[r]);
    }
    std::nth_element(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2), others.end());
    return mean[which.front()] - others[others.size() / 2];
  };
  auto const found = profkit::detail::holding_ranks{held, ranks}.find(job.length, 0.0, excess);
  found_straggler result;
  result.ranks.assign(found.begin(), found.end());
  if (result.ranks.empty()) return result;
  double const imposed = ranks[found.front()].imposed_exposed.count();
  result.low = result.high = excess(found);
  result.bound = std::min(excess(found), imposed);
  return result;
}

}  // namespace bench
