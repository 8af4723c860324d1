// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../analyze/attribution.hpp"
#include "../analyze/memory_changes.hpp"
#include "../analyze/path_tree.hpp"
#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "../version.hpp"
#include "json_writer.hpp"
#include "trace_tracks.hpp"

namespace profkit {

namespace detail {

/// Microseconds with three decimals: exact, and with the begin of the profile as 0 a double holds them.
inline std::string trace_time(std::chrono::nanoseconds time) {
  std::uint64_t const ns = static_cast<std::uint64_t>(time.count() < 0 ? -time.count() : time.count());
  return fmt::format("{}{}.{:03}", time.count() < 0 ? "-" : "", ns / 1000, ns % 1000);
}

/// Writes the events of a trace, one a line.
class trace_writer {
 public:
  trace_writer(profile const& of, attribution const& launched, std::uint64_t steps)
      : of_{of}, launched_{launched}, tracks_{make_trace_tracks(of, launched, steps)} {
    for (path_record const& path : of.paths) {
      scope_names_.push_back(shown_name(path));
      bool const is_root = path.parent == path_record::no_parent;
      scope_paths_.push_back(is_root ? scope_names_.back() : scope_paths_[path.parent] + "/" + scope_names_.back());
    }
    if (of.environment.process_id != 0) host_ = of.environment.process_id;
  }

  [[nodiscard]] std::string text() && {
    text_ = fmt::format("{{\"displayTimeUnit\": \"ms\", \"otherData\": {{\"profkit\": {}, \"begin_unix_ns\": \"{}\"}}, \"traceEvents\": [",
                        json_string(version), of_.time.begin.time_since_epoch().count());
    process(host_, "host " + of_.environment.host, 0);
    threads();
    steps();
    counters();
    streams();
    return std::move(text_) + "\n]}\n";
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void process(std::uint64_t number, std::string const& name, std::size_t position) {
    line(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", number, json_string(name));
    line(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", number, position);
  }

  void track(std::uint64_t process, std::uint64_t number, std::string const& name, std::size_t position) {
    line(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", process, number, json_string(name));
    line(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process, number, position);
  }

  /// @param arguments a JSON object.
  void slice(std::uint64_t process, std::uint64_t track, interval const& time, char const* category, std::string_view name,
             std::string const& arguments) {
    line(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},"args":{}}})", process, track, moment(time.begin),
         trace_time(time.duration()), category, json_string(name), arguments);
  }

  void counter(timestamp time, std::string const& name, char const* unit, double value) {
    if (!std::isfinite(value)) return;
    line(R"({{"ph":"C","pid":{},"ts":{},"name":{},"args":{{"{}":{}}}}})", host_, moment(time), json_string(name), unit, value);
  }

  [[nodiscard]] std::string moment(timestamp time) const { return trace_time(time - of_.time.begin); }

  void threads() {
    std::map<std::uint64_t, std::string> names;
    for (thread_record const& thread : of_.threads) names[thread.system_id] = thread.name;
    std::size_t position = 1;
    for (auto const& [thread, slices] : tracks_.threads) {
      track(host_, thread, names[thread], position++);
      for (host_slice const& each : slices) {
        if (each.is_call) {
          api_call_record const& call = of_.api_calls[each.record];
          calls_shown_[each.record] = each.time.begin;
          slice(host_, thread, each.time, "api", of_.api_names[call.name], fmt::format(R"({{"correlation":{}}})", call.correlation));
        } else {
          std::uint32_t const path = of_.scopes[each.record].path;
          slice(host_, thread, each.time, "scope", scope_names_[path], fmt::format(R"({{"path":{}}})", json_string(scope_paths_[path])));
        }
      }
    }
  }

  void steps() {
    if (tracks_.steps.empty()) return;
    std::uint64_t number = 0;  // no thread's
    for (thread_record const& thread : of_.threads) number = std::max(number, thread.system_id);
    track(host_, ++number, "measured steps", 0);
    for (step_record const& step : tracks_.steps) {
      slice(host_, number, step.time, "step", fmt::format("step {}", step.index), fmt::format(R"({{"items":{}}})", step.items));
    }
  }

  void counters() {
    profile shown;
    shown.steps = tracks_.steps;
    if (!of_.steps.empty() && shown.steps.empty()) return;
    measured_time const when{shown};
    for (counter_record const& each : of_.counters) {
      if (when.contains(each.time)) counter(each.time, of_.counter_names[each.counter], "value", each.value);
    }
    std::map<std::uint64_t, timestamp> ends;
    for (step_record const& step : tracks_.steps) ends[step.index] = step.time.end;
    for (memory_record const& each : of_.memory) {
      auto const end = ends.find(each.step);
      if (end == ends.end()) continue;
      counter(end->second, "memory: " + each.source + " " + each.quantity, "bytes", static_cast<double>(each.current_bytes));
    }
    allocators(when);
  }

  void allocators(measured_time const& when) {
    std::vector<allocator_changes> const changes = find_memory_changes(of_);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      std::uint64_t total = of_.allocators[i].bytes_at_start;
      for (memory_change const& each : changes[i].in_order) {
        total += each.difference();
        if (!when.contains(each.time)) continue;
        counter(each.time, "memory: " + of_.allocators[i].name, "bytes", static_cast<double>(static_cast<std::int64_t>(total)));
      }
    }
  }

  void streams() {
    std::int32_t device = -1;
    std::uint64_t process_number = 0;
    std::size_t position = 0;
    for (auto const& [stream, tracks] : tracks_.streams) {
      if (stream.first != device || position == 0) {
        device = stream.first;
        process_number = host_ + 1 + static_cast<std::uint64_t>(device);
        process(process_number, fmt::format("GPU {}", device), static_cast<std::size_t>(device) + 1);
        position = 0;
      }
      for (std::size_t i = 0; i < tracks.size(); ++i) {
        ++position;
        track(process_number, position, fmt::format("stream {}{}", stream.second, i == 0 ? "" : ", overlapping"), position);
        for (std::uint32_t const operation : tracks[i]) gpu_operation(process_number, position, operation);
      }
    }
  }

  void gpu_operation(std::uint64_t process, std::uint64_t track, std::uint32_t position) {
    gpu_operation_record const& operation = of_.gpu_operations[position];
    bool const is_kernel = operation.kind == gpu_operation_kind::kernel;
    std::string arguments = fmt::format(R"({{"correlation":{})", operation.correlation);
    if (is_kernel) {
      arguments += fmt::format(R"(,"grid":[{},{},{}],"block":[{},{},{}])", operation.grid[0], operation.grid[1], operation.grid[2],
                               operation.block[0], operation.block[1], operation.block[2]);
    } else {
      arguments += fmt::format(R"(,"bytes":{})", operation.bytes);
    }
    std::uint32_t const scope = launched_.scope_of[position];
    if (scope != attribution::none) arguments += R"(,"scope":)" + json_string(scope_paths_[of_.scopes[scope].path]);
    char const* const category = is_kernel ? "kernel" : operation.kind == gpu_operation_kind::copy ? "copy" : "memset";
    slice(process, track, operation.time, category, of_.gpu_names[operation.name].name, arguments + "}");

    std::uint32_t const launch = launched_.launch_of[position];
    auto const call = calls_shown_.find(launch);
    if (launch == attribution::none || call == calls_shown_.end()) return;
    line(R"({{"ph":"s","id":{},"pid":{},"tid":{},"ts":{},"cat":"launch","name":"launch"}})", position, host_,
         of_.threads[of_.api_calls[launch].thread].system_id, moment(call->second));
    line(R"({{"ph":"f","bp":"e","id":{},"pid":{},"tid":{},"ts":{},"cat":"launch","name":"launch"}})", position, process, track,
         moment(operation.time.begin));
  }

  profile const& of_;
  attribution const& launched_;
  trace_tracks tracks_;
  std::vector<std::string> scope_names_;  ///< by path
  std::vector<std::string> scope_paths_;
  std::unordered_map<std::uint32_t, timestamp> calls_shown_;  ///< with their begin on the track
  std::uint64_t host_ = 1;                                    ///< process of the host; the devices' follow it
  std::string text_;
  bool is_first_ = true;
};

}  // namespace detail

/// The last measured steps (without any step, everything) in Chrome's trace event format, which https://ui.perfetto.dev opens: a track per
/// thread with its scopes and API calls, one per stream of a device with its operations, arrows between a launch and what it launched,
/// counters and memory. Times are microseconds since the session began.
/// Source: "Trace Event Format", the Chromium project.
/// @param launched `attribute(of)`.
[[nodiscard]] inline std::string trace_json(profile const& of, attribution const& launched, std::uint64_t steps) {
  return detail::trace_writer{of, launched, steps}.text();
}

[[nodiscard]] inline std::string trace_json(profile const& of, std::uint64_t steps = 3) { return trace_json(of, attribute(of), steps); }

}  // namespace profkit
