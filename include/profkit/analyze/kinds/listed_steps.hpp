// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "../../profile/own_containers.hpp"
#include "../../profile/own_sort.hpp"
#include "../merge/gpu_period_list.hpp"
#include "../merge/step_list.hpp"
#include "../merge/step_series.hpp"
#include "../step_kind_summary.hpp"
#include "../time/durations.hpp"
#include "kind_key.hpp"

namespace profkit::detail {

/// Chooses single steps: one of each group, or of several neighbouring groups if there are more than `max_steps`. The choice depends only
/// on the step indices.
/// @param groups the groups in order.
/// @param level `step_series::level` of the groups.
/// @param max_steps maximum number of steps.
inline own_vector<step_group> choose_steps(own_vector<step_group> groups, unsigned level, std::size_t max_steps) {
  for (;; ++level) {
    own_vector<step_group> chosen;
    for (step_group const& each : groups) {
      bool const is_near = !chosen.empty() && chosen.back().chosen >> level == each.chosen >> level;
      if (!is_near) {
        chosen.push_back(each);
      } else if (step_series::scrambled(each.chosen) < step_series::scrambled(chosen.back().chosen)) {
        chosen.back() = each;
      }
    }
    groups = std::move(chosen);
    if (groups.size() <= max_steps || level >= step_series::max_level) return groups;
  }
}

/// @return single steps with their times, in the order of their indices.
/// @param steps host times and times between CUDA events.
/// @param periods GPU periods.
/// @param position_of positions in `summary::kinds`, by kind.
inline own_vector<listed_step> list_steps(step_list const& steps, gpu_period_list const& periods,
                                          std::map<kind_key, std::size_t> const& position_of) {
  constexpr std::size_t max_measured = 4096;
  constexpr std::size_t max_others = 1024;
  own_vector<step_group> warmup;
  own_vector<step_group> measured;
  for (step_group const& each : steps.host().groups()) (each.is_warmup ? warmup : measured).push_back(each);
  own_hash_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by index
  auto const add_times = [&](step_series const& series) {
    for (step_group const& each : series.groups()) gpu_times.try_emplace(each.chosen, each.chosen_time);
  };
  add_times(steps.gpu());
  add_times(periods.warmup());
  add_times(periods.measured());
  own_vector<listed_step> result;
  auto const list = [&](own_vector<step_group> const& groups, step_series const& series, std::size_t max_steps, bool is_excluded) {
    for (step_group const& each : choose_steps(groups, series.level(), max_steps)) {
      listed_step& added = result.emplace_back();
      added.index = each.chosen;
      added.is_warmup = each.is_warmup;
      added.is_excluded = is_excluded;
      added.host = to_ms(each.chosen_time);
      if (auto const kind = position_of.find(each.kind); kind != position_of.end()) added.kind = kind->second;
      auto const gpu = gpu_times.find(each.chosen);
      if (!is_excluded && gpu != gpu_times.end()) added.gpu = to_ms(gpu->second);
    }
  };
  list(warmup, steps.host(), max_others, false);
  list(measured, steps.host(), max_measured, false);
  list(steps.excluded().groups(), steps.excluded(), max_others, true);
  own_stable_sort(result.begin(), result.end(), [](listed_step const& a, listed_step const& b) { return a.index < b.index; });
  return result;
}

}  // namespace profkit::detail
