// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/gpu/counted_operations.hpp"
#include "../analyze/time/bucket_order.hpp"
#include "../analyze/time/measured_time.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/own_sort.hpp"

namespace profkit::detail {

/// A scope or an API call on the track of a thread.
struct host_slice {
  interval time;
  std::uint32_t record = 0;  ///< position in `profile::scopes` or `profile::api_calls`
  bool is_call = false;
};

/// The tracks of a trace. Slices of one track are nested or disjoint, because viewers cannot draw overlapping slices.
struct trace_tracks {
  own_vector<step_record> steps;
  std::map<std::uint64_t, own_vector<host_slice>> threads;  ///< by system thread number; outer slices before inner ones
  /// GPU operations by device and stream, in the order of their beginnings. Operations that overlap an earlier one (branches of a graph, a
  /// kernel that starts before its predecessor ends) are on an additional track of the stream.
  std::map<std::pair<std::int32_t, std::uint32_t>, own_vector<own_vector<std::uint32_t>>> streams;
};

/// The steps of the profile. Only the last `count` measured steps remain measured; the others become warm-up.
inline own_vector<step_record> last_measured_steps(profile const& profile, std::uint64_t count) {
  own_vector<step_record> result = profile.steps;
  for (auto step = result.rbegin(); step != result.rend(); ++step) {
    if (!step->is_measured()) continue;
    if (count == 0) step->warmup = true;
    if (count > 0) --count;
  }
  return result;
}

/// Cuts API calls at the ends of scopes. Their times come from another clock, so they may exceed a scope by the clock error.
/// @param slices in the order of their beginnings, outer ones before inner ones.
inline void make_calls_fit(own_vector<host_slice>& slices) {
  own_vector<host_slice*> open;
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

/// The order of slices on a track: by beginning, outer ones before inner ones.
inline bool stands_before(host_slice const& a, host_slice const& b) {
  if (a.time.begin != b.time.begin) return a.time.begin < b.time.begin;
  if (a.time.end != b.time.end) return a.time.end > b.time.end;
  if (a.is_call != b.is_call) return b.is_call;
  return a.is_call ? a.record < b.record : a.record > b.record;  // if two scopes have the same times, the outer one was recorded later
}

/// Sorts slices. They arrive mostly in the order of their ends, which is slow to sort. Filling buckets by time from last to first gives the
/// correct order except in rare cases.
inline void sort_slices(own_vector<host_slice>& slices) {
  if (std::is_sorted(slices.begin(), slices.end(), stands_before)) return;
  own_vector<std::uint64_t> begins;
  begins.reserve(slices.size());
  std::reverse(slices.begin(), slices.end());
  for (host_slice const& each : slices) {
    // Flipping the sign bit gives the order of signed numbers.
    begins.push_back(static_cast<std::uint64_t>(each.time.begin.time_since_epoch().count()) ^ (std::uint64_t{1} << 63U));
  }
  own_vector<host_slice> sorted;
  sorted.reserve(slices.size());
  bucket_order const order{begins};
  for (std::uint32_t const position : order.positions()) sorted.push_back(slices[position]);
  slices = std::move(sorted);
  if (!std::is_sorted(slices.begin(), slices.end(), stands_before)) std::sort(slices.begin(), slices.end(), stands_before);
}

/// Distributes operations to tracks without overlap. @param operations of one stream.
inline own_vector<own_vector<std::uint32_t>> without_overlap(profile const& profile, own_vector<std::uint32_t> operations) {
  auto const begins_before = [&](std::uint32_t a, std::uint32_t b) {
    return profile.gpu_operations[a].time.begin < profile.gpu_operations[b].time.begin;
  };
  if (!std::is_sorted(operations.begin(), operations.end(), begins_before)) {
    own_stable_sort(operations.begin(), operations.end(), begins_before);
  }
  own_vector<own_vector<std::uint32_t>> tracks;
  std::set<std::size_t> free;                           // tracks on which nothing runs
  std::set<std::pair<timestamp, std::size_t>> running;  // the ends of the last operations of the other tracks
  for (std::uint32_t const operation : operations) {
    interval const& time = profile.gpu_operations[operation].time;
    for (; !running.empty() && running.begin()->first <= time.begin; running.erase(running.begin())) free.insert(running.begin()->second);
    if (free.empty()) {
      free.insert(tracks.size());
      tracks.emplace_back();
    }
    std::size_t const track = *free.begin();
    free.erase(free.begin());
    tracks[track].push_back(operation);
    running.emplace(time.end, track);
  }
  return tracks;
}

/// The tracks by position in `profile::threads`; several positions may share a system thread. The pointers stay valid.
inline own_vector<own_vector<host_slice>*> tracks_by_thread(profile const& profile, trace_tracks& tracks) {
  own_vector<own_vector<host_slice>*> result;
  result.reserve(profile.threads.size());
  for (thread_record const& each : profile.threads) result.push_back(&tracks.threads[each.system_id]);
  return result;
}

/// Selects the content of a trace and assigns it to tracks.
/// @param launched `attribute(profile)`.
/// @param steps number of measured steps, counted from the end.
inline trace_tracks make_trace_tracks(profile const& profile, attribution const& launched, std::uint64_t steps) {
  trace_tracks result;
  profkit::profile shown;
  shown.steps = last_measured_steps(profile, steps);
  measured_time const when{shown};
  for (step_record const& step : shown.steps) {
    if (step.is_measured()) result.steps.push_back(step);
  }

  own_vector<own_vector<host_slice>*> const thread_tracks = tracks_by_thread(profile, result);
  measured_time_cursor in{when};
  for (std::size_t i = 0; i < profile.scopes.size(); ++i) {
    scope_record const& scope = profile.scopes[i];
    if (in.contains(scope.time.begin)) thread_tracks[scope.thread]->push_back({scope.time, static_cast<std::uint32_t>(i), false});
  }
  own_vector<std::uint32_t> scope_of_call(profile.api_calls.size(), attribution::none);
  std::map<std::pair<std::int32_t, std::uint32_t>, own_vector<std::uint32_t>> streams;
  std::pair<std::int32_t, std::uint32_t> last{};
  own_vector<std::uint32_t>* operations_of_last = nullptr;
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    gpu_operation_record const& operation = profile.gpu_operations[i];
    std::uint32_t const launch = launched.launch_of[i];
    if (launch != attribution::none) scope_of_call[launch] = launched.scope_of[i];
    if (!in.contains(launch_moment(profile, launched, i))) continue;
    std::pair const stream{operation.device, operation.stream};
    if (operations_of_last == nullptr || stream != last) {
      last = stream;
      operations_of_last = &streams[stream];
    }
    operations_of_last->push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& [stream, operations] : streams) result.streams[stream] = without_overlap(profile, std::move(operations));
  for (std::size_t i = 0; i < profile.api_calls.size(); ++i) {
    host_slice call{profile.api_calls[i].time, static_cast<std::uint32_t>(i), true};
    if (!in.contains(middle_of(call.time))) continue;
    if (scope_of_call[i] != attribution::none) {
      interval const& scope = profile.scopes[scope_of_call[i]].time;
      call.time = {std::max(call.time.begin, scope.begin), std::min(call.time.end, scope.end)};
    }
    thread_tracks[profile.api_calls[i].thread]->push_back(call);
  }
  for (auto thread = result.threads.begin(); thread != result.threads.end();) {
    sort_slices(thread->second);
    make_calls_fit(thread->second);
    thread = thread->second.empty() ? result.threads.erase(thread) : std::next(thread);
  }
  return result;
}

}  // namespace profkit::detail
