// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "../analyze/attribution.hpp"
#include "../analyze/counted_operations.hpp"
#include "../analyze/measured_time.hpp"
#include "../profile/profile.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

/// A scope or an API call on the track of a thread.
struct host_slice {
  interval time;
  std::uint32_t record = 0;  ///< position in `profile::scopes` or `profile::api_calls`
  bool is_call = false;
};

/// What a trace shows, track by track. On a track one slice lies inside another or beside it: a viewer cannot draw others.
struct trace_tracks {
  std::vector<step_record> steps;
  std::map<std::uint64_t, std::vector<host_slice>> threads;  ///< by number of the system, outer slices before inner ones
  /// GPU operations in the order of their begin, by device and stream. Those that overlap one before them (branches of a graph, a kernel
  /// that starts before the one it depends on has ended) are on a further track of the stream.
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<std::vector<std::uint32_t>>> streams;
};

/// The last `count` measured steps alone; without any step, everything.
inline std::vector<step_record> last_measured_steps(profile const& of, std::uint64_t count) {
  std::vector<step_record> result = of.steps;
  for (auto step = result.rbegin(); step != result.rend(); ++step) {
    if (step->warmup) continue;
    if (count == 0) step->warmup = true;
    if (count > 0) --count;
  }
  return result;
}

/// API calls come from another clock than scopes, so that they may overlap the edge of one by its error: they are cut there.
/// @param slices in the order of their begin, outer ones before inner ones.
inline void make_calls_fit(std::vector<host_slice>& slices) {
  std::vector<host_slice*> open;
  for (host_slice& slice : slices) {
    while (!open.empty() && open.back()->time.end <= slice.time.begin) open.pop_back();
    while (!open.empty() && slice.time.end > open.back()->time.end) {
      if (slice.is_call) {
        slice.time.end = open.back()->time.end;
      } else {
        if (!open.back()->is_call) break;
        open.back()->time.end = slice.time.begin;
        open.pop_back();
      }
    }
    open.push_back(&slice);
  }
}

/// @param operations of one stream.
inline std::vector<std::vector<std::uint32_t>> without_overlap(profile const& of, std::vector<std::uint32_t> operations) {
  std::stable_sort(operations.begin(), operations.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return of.gpu_operations[a].time.begin < of.gpu_operations[b].time.begin; });
  std::vector<std::vector<std::uint32_t>> tracks;
  for (std::uint32_t const operation : operations) {
    auto const free = std::find_if(tracks.begin(), tracks.end(), [&](std::vector<std::uint32_t> const& track) {
      return of.gpu_operations[track.back()].time.end <= of.gpu_operations[operation].time.begin;
    });
    (free == tracks.end() ? tracks.emplace_back() : *free).push_back(operation);
  }
  return tracks;
}

/// @param launched of the profile.
/// @param steps how many of the last measured steps.
inline trace_tracks make_trace_tracks(profile const& of, attribution const& launched, std::uint64_t steps) {
  trace_tracks result;
  profile shown;
  shown.steps = last_measured_steps(of, steps);
  measured_time const when{shown};
  for (step_record const& step : shown.steps) {
    if (!step.warmup) result.steps.push_back(step);
  }

  for (std::size_t i = 0; i < of.scopes.size(); ++i) {
    scope_record const& scope = of.scopes[i];
    if (!when.contains(scope.time.begin)) continue;
    result.threads[of.threads[scope.thread].system_id].push_back({scope.time, static_cast<std::uint32_t>(i), false});
  }
  std::vector<std::uint32_t> scope_of_call(of.api_calls.size(), attribution::none);
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<std::uint32_t>> streams;
  for (std::size_t i = 0; i < of.gpu_operations.size(); ++i) {
    gpu_operation_record const& operation = of.gpu_operations[i];
    std::uint32_t const launch = launched.launch_of[i];
    if (launch != attribution::none) scope_of_call[launch] = launched.scope_of[i];
    if (!when.contains(launch_moment(of, launched, i))) continue;
    streams[{operation.device, operation.stream}].push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& [stream, operations] : streams) result.streams[stream] = without_overlap(of, std::move(operations));
  for (std::size_t i = 0; i < of.api_calls.size(); ++i) {
    host_slice call{of.api_calls[i].time, static_cast<std::uint32_t>(i), true};
    if (!when.contains(middle_of(call.time))) continue;
    if (scope_of_call[i] != attribution::none) {
      interval const& scope = of.scopes[scope_of_call[i]].time;
      call.time = {std::max(call.time.begin, scope.begin), std::min(call.time.end, scope.end)};
    }
    result.threads[of.threads[of.api_calls[i].thread].system_id].push_back(call);
  }
  for (auto& [thread, slices] : result.threads) {
    std::sort(slices.begin(), slices.end(), [](host_slice const& a, host_slice const& b) {
      if (a.time.begin != b.time.begin) return a.time.begin < b.time.begin;
      if (a.time.end != b.time.end) return a.time.end > b.time.end;
      if (a.is_call != b.is_call) return b.is_call;
      return a.is_call ? a.record < b.record : a.record > b.record;  // of two scopes, the outer one ended later
    });
    make_calls_fit(slices);
  }
  return result;
}

}  // namespace profkit::detail
