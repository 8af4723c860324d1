// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <profkit/impl/profile/own_containers.hpp>
#include <set>
#include <string>

#include "job_rank.hpp"
#include "job_summary.hpp"
#include "rank_clocks.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The stages of all ranks. A stage that only some ranks have follows the stage that precedes it there.
inline own_vector<std::string> stage_order(own_vector<job_rank> const& ranks) {
  std::list<std::string> result;
  own_hash_map<std::string, std::list<std::string>::iterator> known;
  for (job_rank const& rank : ranks) {
    for (timeline_step const& step : rank.timeline.steps) {
      auto after = result.begin();
      for (path_time const& stage : step.stages) {
        std::string const& name = rank.timeline.paths[stage.path];
        auto const [at, is_new] = known.try_emplace(name);
        if (is_new) at->second = result.insert(after, name);
        after = std::next(at->second);
      }
    }
  }
  return {result.begin(), result.end()};
}

/// The lower quartile of the host time of each stage: with a full launch queue, the mean host time equals GPU time.
inline std::map<std::string, double> stage_paces(job_rank const& rank, std::set<std::uint64_t> const& steps) {
  std::map<std::string, own_vector<double>> times;
  std::size_t count = 0;
  for (timeline_step const& step : rank.timeline.steps) {
    if (steps.count(step.index) == 0) continue;
    ++count;
    for (path_time const& each : step.stages)
      times[rank.timeline.paths[each.path]].push_back(static_cast<double>(each.time.count()) * 1e-6);
  }
  std::map<std::string, double> result;
  constexpr double quartile = 0.25;
  for (auto& [name, each] : times) {
    each.resize(std::max(each.size(), count));
    result[name] = quantile_in(each, quartile);
  }
  return result;
}

/// The slowest host, if its pace exceeds the median of the others by at least 10 % of the step.
/// @param steps indices of the compared steps.
/// @param job must have its ranks and its step time.
inline std::optional<slow_host_summary> find_slow_host(own_vector<job_rank> const& ranks, std::set<std::uint64_t> const& steps,
                                                       job_summary const& job) {
  if (job.ranks.size() < 2 || steps.empty()) return std::nullopt;
  auto const slowest = static_cast<std::size_t>(
      std::max_element(job.ranks.begin(), job.ranks.end(), [](auto const& a, auto const& b) { return a.host_pace < b.host_pace; }) -
      job.ranks.begin());
  own_vector<double> paces;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (i != slowest) paces.push_back(job.ranks[i].host_pace.count());
  }
  slow_host_summary result;
  result.rank = slowest;
  result.pace = job.ranks[slowest].host_pace;
  result.others = milliseconds{median_in(paces)};
  constexpr double min_share = 0.1;
  if (result.pace <= result.others || result.pace - result.others < min_share * job.step) return std::nullopt;
  std::map<std::string, own_vector<double>> others;
  std::size_t const stride = stride_of_sample(ranks.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < ranks.size(); i += stride) {
    if (i == slowest) continue;
    ++count;
    for (auto const& [name, time] : stage_paces(ranks[i], steps)) others[name].push_back(time);
  }
  for (auto const& [name, time] : stage_paces(ranks[slowest], steps)) {
    own_vector<double>& rest = others[name];
    rest.resize(std::max(rest.size(), count));
    double const median = median_in(rest);
    if (time - median <= (result.stage_time - result.stage_others).count()) continue;
    result.stage = name;
    result.stage_time = milliseconds{time};
    result.stage_others = milliseconds{median};
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
