// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_timeline.hpp"

#include <algorithm>
#include <utility>

namespace trainer {

namespace {

/// The scope of the latest step; null if there is none.
profkit::scope_record const* last_step_scope(profkit::profile const& profile) {
  profkit::scope_record const* last = nullptr;
  for (profkit::scope_record const& scope : profile.scopes) {
    if (!profile.paths[scope.path].is_step) continue;
    if (last == nullptr || last->time.begin < scope.time.begin) last = &scope;
  }
  return last;
}

bool is_inside(profkit::timestamp time, profkit::interval const& interval) { return interval.begin <= time && time <= interval.end; }

/// The state at the beginning of the time is that of the last sample before it.
std::vector<memory_sample> samples_in(profkit::interval const& time, std::vector<memory_sample> const& all) {
  std::vector<memory_sample> result;
  for (memory_sample const& sample : all) {
    if (sample.time > time.end) break;
    if (sample.time > time.begin) {
      result.push_back(sample);
    } else {
      result = {{time.begin, sample.allocated_bytes, sample.reserved_bytes}};
    }
  }
  return result;
}

}  // namespace

memory_timeline last_step_of(profkit::profile const& profile, memory_history const& history, std::string title) {
  memory_timeline result;
  result.title = std::move(title);
  profkit::scope_record const* const step = last_step_scope(profile);
  if (step == nullptr) {
    result.history = history;
    if (history.failure) result.time = {history.failure->time, history.failure->time};
    if (history.samples.empty()) return result;
    result.time = {history.samples.front().time, std::max(history.samples.back().time, result.time.end)};
    return result;
  }
  result.is_of_step = true;
  result.time = step->time;
  result.history.samples = samples_in(step->time, history.samples);
  if (history.failure && is_inside(history.failure->time, step->time)) result.history.failure = history.failure;
  for (profkit::scope_record const& scope : profile.scopes) {
    profkit::path_record const& path = profile.paths[scope.path];
    if (path.parent == step->path && is_inside(scope.time.begin, step->time)) result.phases.push_back({path.name, scope.time});
  }
  std::sort(result.phases.begin(), result.phases.end(),
            [](memory_phase const& a, memory_phase const& b) { return a.time.begin < b.time.begin; });
  return result;
}

}  // namespace trainer
