// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/api_call_kind.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/innermost_scopes.hpp"
#include "../time/measured_time.hpp"

namespace profkit::detail {

/// The calls of one function in which a thread can wait for a device.
struct device_wait {
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;  ///< sum of their durations

  void add(device_wait const& other) {
    calls += other.calls;
    ns += other.ns;
  }

  template <class Archive>
  friend void fields(Archive& archive, device_wait& state) {
    archive.amount(state.calls), archive.amount(state.ns);
  }
};

/// By name of the function.
using device_waits = std::map<std::string, device_wait>;

/// Removes version suffixes: "cudaStreamSynchronize" for "cudaStreamSynchronize_v3020" and "cudaStreamSynchronize_ptsz_v7000".
inline std::string name_without_version(std::string const& name) {
  std::size_t const digits = name.find_last_not_of("0123456789");
  std::string result = digits != std::string::npos && digits > 0 && digits + 1 < name.size() && name.compare(digits - 1, 2, "_v") == 0
                           ? name.substr(0, digits - 1)
                           : name;
  for (char const* const suffix : {"_ptsz", "_ptds"}) {
    std::size_t const at = result.rfind(suffix);
    if (at != std::string::npos && at + 5 == result.size()) result.resize(at);
  }
  return result;
}

/// A part of a call that waits for a device, inside the measured time and outside all calls that began earlier. So a driver call inside a
/// runtime call does not count.
struct wait_piece {
  interval time;
  std::uint32_t thread = 0;  ///< position in `profile::threads`
  std::uint32_t name = 0;    ///< position in `profile::api_names`
  std::uint64_t calls = 0;   ///< 1 if the call begins in it
};

/// The pieces at a moment depend only on the calls at that moment, so all windows find the same pieces.
/// @param calls positions of the calls of a lane, by their beginning.
inline void add_wait_pieces(profile const& profile, grouped_positions::range calls, own_vector<interval> const& measured,
                            own_vector<wait_piece>& to) {
  timestamp covered = timestamp::min();  // the latest end of the calls so far
  for (std::uint32_t const position : calls) {
    api_call_record const& call = profile.api_calls[position];
    interval const rest{std::max(call.time.begin, covered), call.time.end};
    bool const is_outer = covered <= call.time.begin;
    covered = std::max(covered, call.time.end);
    auto at = std::upper_bound(measured.begin(), measured.end(), rest.begin,
                               [](timestamp moment, interval const& each) { return moment < each.end; });
    for (; at != measured.end() && at->begin < rest.end; ++at) {
      interval const time{std::max(rest.begin, at->begin), std::min(rest.end, at->end)};
      if (time.begin < time.end) to.push_back({time, call.thread, call.name, is_outer && time.begin == call.time.begin ? 1U : 0U});
    }
  }
}

/// Finds the calls that wait for a device in the measured time, with the innermost scope open on their thread.
/// @param has_waited receives for each sample whether it was taken in such a call, because most calls wait by polling the device.
/// @return the waits by path; calls outside any scope are omitted.
inline own_vector<device_waits> find_device_waits(profile const& profile, thread_lanes const& lanes, measured_time const& when,
                                                  own_vector<bool>& has_waited) {
  own_vector<bool> waits;
  for (std::string const& name : profile.api_names) {
    api_call_kind const kind = kind_of_api_call(name);
    bool const is_async = name.find("Async") != std::string::npos;
    waits.push_back(kind == api_call_kind::synchronisation || (kind == api_call_kind::copy && !is_async));
  }
  auto const lane_of_call = [&](std::uint32_t i) {
    return waits[profile.api_calls[i].name] ? std::size_t{lanes.lane_of(profile.api_calls[i].thread)} : lanes.count();
  };
  grouped_positions const calls{profile.api_calls.size(), lanes.count(), lane_of_call,
                                [&](std::uint32_t i) { return profile.api_calls[i].time.begin; }};
  own_vector<wait_piece> pieces;
  own_vector<interval> const measured = when.stretches();
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) add_wait_pieces(profile, calls[lane], measured, pieces);
  own_vector<std::uint32_t> parent_of;
  own_vector<std::uint32_t> const scope_of = innermost_scopes(
      profile, lanes, pieces, [](std::uint32_t) { return true; }, [&](std::uint32_t i) { return middle_of(pieces[i].time); }, parent_of);

  own_vector<device_waits> result(profile.paths.size());
  auto const lane_of_sample = [&](std::uint32_t i) { return std::size_t{lanes.lane_of(profile.samples[i].thread)}; };
  grouped_positions const samples{profile.samples.size(), lanes.count(), lane_of_sample,
                                  [&](std::uint32_t i) { return profile.samples[i].time; }};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (scope_of[i] == no_scope) continue;
    interval const& time = pieces[i].time;
    result[profile.scopes[scope_of[i]].path][name_without_version(profile.api_names[pieces[i].name])].add(
        {pieces[i].calls, static_cast<std::uint64_t>(time.duration().count())});
    grouped_positions::range const of_thread = samples[lanes.lane_of(pieces[i].thread)];
    auto next = std::lower_bound(of_thread.begin(), of_thread.end(), time.begin,
                                 [&](std::uint32_t sample, timestamp moment) { return profile.samples[sample].time < moment; });
    for (; next != of_thread.end() && profile.samples[*next].time < time.end; ++next) has_waited[*next] = true;
  }
  return result;
}

}  // namespace profkit::detail
