// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "../analyze/gpu/attribution.hpp"
#include "../analyze/gpu/counted_operations.hpp"
#include "../analyze/gpu/gpu_idle.hpp"
#include "../analyze/gpu/gpu_summary.hpp"
#include "../analyze/memory/scope_memory.hpp"
#include "../analyze/time/measured_time.hpp"
#include "../analyze/time/path_tree.hpp"
#include "../analyze/time/quantiles.hpp"
#include "../analyze/time/thread_timeline.hpp"
#include "../profile/numbers.hpp"
#include "../profile/own_containers.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/record_types.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// The name of the track of a process, such as "rank 3 (node17)" in a run of several ranks, or "host node17".
inline std::string process_track_name(environment_record const& environment) {
  return environment.rank && environment.rank->size > 1 ? rank_name(environment.rank->rank, environment.host) : "host " + environment.host;
}

/// A number over time, with finite values in time order.
struct counter_track {
  std::string name;
  bool is_bytes = false;
  own_vector<std::pair<timestamp, double>> values{};
};

/// The start of an arrow to a GPU operation: the launching call as shown in the trace.
struct launch_arrow {
  timestamp begin;
  std::uint64_t thread = 0;  ///< system thread number
};

/// A list of positions in `profile::gpu_operations`.
struct operation_list {
  std::uint32_t const* first = nullptr;
  std::uint32_t const* last = nullptr;
  [[nodiscard]] std::uint32_t const* begin() const noexcept { return first; }
  [[nodiscard]] std::uint32_t const* end() const noexcept { return last; }
};

/// The content of a trace, so that all formats show the same.
class trace_content {
 public:
  trace_content(profile const& profile, attribution const& launched, std::uint64_t steps)
      : profile_{profile}, launched_{launched}, tracks_{make_trace_tracks(profile, launched, steps)} {
    for (path_record const& path : profile.paths) {
      scope_names_.push_back(shown_name(path));
      bool const is_root = path.parent == path_record::no_parent;
      scope_paths_.push_back(is_root ? scope_names_.back() : scope_paths_[path.parent] + "/" + scope_names_.back());
    }
    if (profile.environment.process_id != 0) host_ = profile.environment.process_id;
    find_arrows();
  }

  [[nodiscard]] profile const& recorded() const noexcept { return profile_; }
  [[nodiscard]] std::uint64_t host() const noexcept { return host_; }                                 ///< process id
  [[nodiscard]] own_vector<std::string> const& scope_names() const noexcept { return scope_names_; }  ///< by path
  [[nodiscard]] own_vector<std::string> const& scope_paths() const noexcept { return scope_paths_; }  ///< by path

  /// The path of the scope that launched the operation; `attribution::none` if outside any scope.
  [[nodiscard]] std::uint32_t scope_path_of(std::uint32_t operation) const {
    std::uint32_t const scope = launched_.scope_of[operation];
    return scope == attribution::none ? attribution::none : profile_.scopes[scope].path;
  }

  [[nodiscard]] operation_list launched_by(std::uint32_t call) const {
    if (first_launched_.empty()) return {};
    return {arrows_.data() + first_launched_[call], arrows_.data() + first_launched_[call + 1]};
  }

  /// Calls the format for each track and then for each element of the track, in the order of their beginnings, outer slices before inner
  /// ones. Tracks of the process come first, then tracks of devices.
  template <class Format>
  void write_to(Format& format) const {
    write_threads(format);
    write_steps(format);
    write_idle(format);
    for (counter_track const& each : counters()) format.counter(each);
    write_streams(format);
  }

 private:
  static constexpr timestamp not_shown = timestamp::max();

  void find_arrows() {
    call_begins_.assign(profile_.gpu_operations.empty() ? 0 : profile_.api_calls.size(), not_shown);
    if (call_begins_.empty()) return;
    for (auto const& [thread, slices] : tracks_.threads) {
      for (host_slice const& each : slices) {
        if (each.is_call) call_begins_[each.record] = each.time.begin;
      }
    }
    first_launched_.assign(profile_.api_calls.size() + 1, 0);
    auto const for_each_arrow = [&](auto const& call) {
      for (auto const& [stream, tracks] : tracks_.streams) {
        for (own_vector<std::uint32_t> const& track : tracks) {
          for (std::uint32_t const operation : track) {
            if (is_call_shown(operation)) call(launched_.launch_of[operation], operation);
          }
        }
      }
    };
    for_each_arrow([&](std::uint32_t call, std::uint32_t) { ++first_launched_[call + 1]; });
    for (std::size_t i = 1; i < first_launched_.size(); ++i) first_launched_[i] += first_launched_[i - 1];
    arrows_.resize(first_launched_.back());
    own_vector<std::uint32_t> next = first_launched_;
    for_each_arrow([&](std::uint32_t call, std::uint32_t operation) { arrows_[next[call]++] = operation; });
  }

  [[nodiscard]] bool is_call_shown(std::uint32_t operation) const {
    std::uint32_t const launch = launched_.launch_of[operation];
    return launch != attribution::none && call_begins_[launch] != not_shown;
  }

  template <class Format>
  void write_threads(Format& format) const {
    own_hash_map<std::uint64_t, std::string_view> names;
    for (thread_record const& thread : profile_.threads) names[thread.system_id] = thread.name;
    std::size_t rank = 1;
    for (auto const& [thread, slices] : tracks_.threads) {
      format.thread(thread, names[thread], rank++, slices.front().time.begin);
      for (host_slice const& each : slices) {
        if (each.is_call) {
          format.call(each.time, each.record);
        } else {
          format.scope(each.time, profile_.scopes[each.record].path);
        }
      }
    }
  }

  /// Tracks that are not threads have numbers above all thread numbers.
  [[nodiscard]] std::uint64_t max_thread_number() const {
    std::uint64_t result = 0;
    for (thread_record const& thread : profile_.threads) result = std::max(result, thread.system_id);
    return result;
  }

  template <class Format>
  void write_steps(Format& format) const {
    if (tracks_.steps.empty()) return;
    format.process_track("measured steps", max_thread_number() + 1, tracks_.steps.front().time.begin);
    for (step_record const& step : tracks_.steps) format.step(step);
  }

  template <class Format>
  void write_idle(Format& format) const {
    own_vector<charged_idle> const idle = idle_parts();
    if (idle.empty()) return;
    format.process_track("GPU idle: no operation runs on any GPU", max_thread_number() + 2, idle.front().time.begin);
    for (charged_idle const& each : idle) format.idle(each);
  }

  /// The time in which no operation ran on any device. It begins with the first shown step and ends with the last one and its operations.
  /// Without steps, it extends from the first operation to the last.
  [[nodiscard]] own_vector<charged_idle> idle_parts() const {
    own_vector<charged_idle> result;
    interval shown{timestamp::max(), timestamp::min()};
    auto const add = [&](interval const& time) { shown = {std::min(shown.begin, time.begin), std::max(shown.end, time.end)}; };
    for (auto const& [stream, tracks] : tracks_.streams) {
      for (own_vector<std::uint32_t> const& track : tracks) {
        for (std::uint32_t const operation : track) add(profile_.gpu_operations[operation].time);
      }
    }
    if (shown.end <= shown.begin) return result;
    for (step_record const& step : tracks_.steps) add(step.time);
    measured_time const wall = measured_time::of_stretches({shown});
    counted_operations const operations{profile_, launched_, wall};
    own_vector<thread_calls> const calls = calls_by_lane(profile_, launched_);
    profile steps;
    steps.steps = tracks_.steps;
    (void)idle_charging{profile_, launched_, calls, thread_of_steps(profile_, measured_time{steps}), kind_positions{}, &result}(
        find_idle_stretches(profile_, launched_, wall, operations));
    std::sort(result.begin(), result.end(), [](charged_idle const& a, charged_idle const& b) { return a.time.begin < b.time.begin; });
    return result;
  }

  template <class Format>
  void write_streams(Format& format) const {
    std::int32_t device = -1;
    std::size_t rank = 0;
    for (auto const& [stream, tracks] : tracks_.streams) {
      if (stream.first != device || rank == 0) {
        device = stream.first;
        format.device(device, device_name(device));
        rank = 0;
      }
      for (own_vector<std::uint32_t> const& track : tracks) {
        bool const is_first = &track == &tracks.front();
        format.stream("stream " + std::to_string(stream.second) + (is_first ? "" : ", overlapping"), ++rank,
                      profile_.gpu_operations[track.front()].time.begin);
        for (std::uint32_t const operation : track) {
          if (is_call_shown(operation)) {
            std::uint32_t const call = launched_.launch_of[operation];
            launch_arrow const from{call_begins_[call], profile_.threads[profile_.api_calls[call].thread].system_id};
            format.operation(operation, &from);
          } else {
            format.operation(operation, nullptr);
          }
        }
      }
    }
  }

  /// "GPU 0 NVIDIA H200"; in a run of several ranks "rank 3 (node17), GPU 0 NVIDIA H200". The environment has the name of only one device.
  /// So the name is used only if a single device is shown.
  [[nodiscard]] std::string device_name(std::int32_t device) const {
    bool const is_of_job = profile_.environment.rank && profile_.environment.rank->size > 1;
    std::string result = (is_of_job ? process_track_name(profile_.environment) + ", " : "") + "GPU " + std::to_string(device);
    bool const is_only_one = tracks_.streams.begin()->first.first == tracks_.streams.rbegin()->first.first;
    if (is_only_one && !profile_.environment.gpu.empty()) result += " " + profile_.environment.gpu;
    return result;
  }

  [[nodiscard]] own_vector<counter_track> counters() const {
    profile shown;
    shown.steps = tracks_.steps;
    if (!profile_.steps.empty() && shown.steps.empty()) return {};
    measured_time const when{shown};
    own_vector<counter_track> result;
    for (std::string const& name : profile_.counter_names) result.push_back({name, false});
    for (counter_record const& each : profile_.counters) {
      if (when.contains(each.time)) result[each.counter].values.emplace_back(each.time, each.value);
    }
    add_memory(result);
    add_migrations(result, when);
    own_vector<allocator_changes> const changes = find_memory_changes(profile_);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      std::uint64_t total = profile_.allocators[i].bytes_at_start;
      counter_track& track = result.emplace_back(counter_track{"memory: " + profile_.allocators[i].name, true});
      for (memory_change const& each : changes[i].in_order) {
        total += each.difference();
        if (when.contains(each.time)) track.values.emplace_back(each.time, static_cast<double>(static_cast<std::int64_t>(total)));
      }
    }
    for (counter_track& each : result) tidy(each);
    result.erase(std::remove_if(result.begin(), result.end(), [](counter_track const& each) { return each.values.empty(); }), result.end());
    return result;
  }

  /// Migrations of unified memory: the bytes of each direction so far.
  void add_migrations(own_vector<counter_track>& to, measured_time const& when) const {
    own_vector<page_event_record> events = profile_.page_events;
    own_stable_sort(events.begin(), events.end(),
                    [](page_event_record const& a, page_event_record const& b) { return a.time.end < b.time.end; });
    for (page_event_kind const kind : {page_event_kind::to_device, page_event_kind::to_host, page_event_kind::between}) {
      counter_track& track = to.emplace_back(counter_track{page_event_names[static_cast<std::size_t>(kind)], true});
      double total = 0.0;
      for (page_event_record const& each : events) {
        if (each.kind != kind || !when.contains(each.time.end)) continue;
        track.values.emplace_back(each.time.end, total += static_cast<double>(each.amount));
      }
    }
  }

  void add_memory(own_vector<counter_track>& to) const {
    own_hash_map<std::uint64_t, timestamp> ends;
    for (step_record const& step : tracks_.steps) ends[step.index] = step.time.end;
    std::map<std::string, std::size_t> known;
    for (memory_record const& each : profile_.memory) {
      auto const end = ends.find(each.step);
      if (end == ends.end()) continue;
      std::string const name = "memory: " + each.source + " " + each.quantity;
      auto const [track, is_new] = known.try_emplace(name, to.size());
      if (is_new) to.push_back({name, true});
      to[track->second].values.emplace_back(end->second, static_cast<double>(each.current_bytes));
    }
  }

  static void tidy(counter_track& track) {
    auto& values = track.values;
    values.erase(std::remove_if(values.begin(), values.end(), [](auto const& each) { return !is_finite(each.second); }), values.end());
    own_stable_sort(values.begin(), values.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  }

  profile const& profile_;
  attribution const& launched_;
  trace_tracks tracks_;
  own_vector<std::string> scope_names_;
  own_vector<std::string> scope_paths_;
  own_vector<timestamp> call_begins_;         ///< by API call, as shown
  own_vector<std::uint32_t> first_launched_;  ///< by API call: the first of its operations in `arrows_`, plus one entry for the end
  own_vector<std::uint32_t> arrows_;
  std::uint64_t host_ = 1;
};

}  // namespace PROFKIT_NAMESPACE::detail
