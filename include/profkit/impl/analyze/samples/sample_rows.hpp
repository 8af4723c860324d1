// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../summary.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../gpu/attribution.hpp"
#include "../gpu/counted_operations.hpp"
#include "../time/measured_time.hpp"
#include "../time/path_tree.hpp"
#include "../windows/state.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A number of samples or of calls, with the time that they represent.
struct counted_time {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;

  auto members() { return listed(summed(count), summed(ns)); }

  void add(std::uint64_t more, std::uint64_t more_ns) {
    count += more;
    ns += more_ns;
  }
};

/// The calls in which a thread can wait for a device, by name of the function.
using device_waits = std::map<std::string, counted_time>;

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
/// @param to the waits by path; calls outside any scope are omitted.
inline void add_device_waits(own_vector<device_waits>& to, profile const& profile, thread_lanes const& lanes, measured_time const& when,
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

  auto const lane_of_sample = [&](std::uint32_t i) { return std::size_t{lanes.lane_of(profile.samples[i].thread)}; };
  grouped_positions const samples{profile.samples.size(), lanes.count(), lane_of_sample,
                                  [&](std::uint32_t i) { return profile.samples[i].time; }};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (scope_of[i] == no_scope) continue;
    interval const& time = pieces[i].time;
    device_waits& waits_of = to[profile.scopes[scope_of[i]].path];
    waits_of[name_without_version(profile.api_names[pieces[i].name])].add(pieces[i].calls,
                                                                          static_cast<std::uint64_t>(time.duration().count()));
    grouped_positions::range const of_thread = samples[lanes.lane_of(pieces[i].thread)];
    auto next = std::lower_bound(of_thread.begin(), of_thread.end(), time.begin,
                                 [&](std::uint32_t sample, timestamp moment) { return profile.samples[sample].time < moment; });
    for (; next != of_thread.end() && profile.samples[*next].time < time.end; ++next) has_waited[*next] = true;
  }
}

/// Host samples in the measured time, by path and function, and the calls that wait for a device, by path and name. All sums are integers.
class sample_sums {
 public:
  /// Name, module and caller.
  using function_key = std::tuple<std::string, std::string, std::string>;
  using functions = std::map<function_key, counted_time>;
  /// Source file and line.
  using place = std::pair<std::string, std::uint32_t>;

  /// Adds the next window.
  /// @param lanes null: do not look for calls that wait for a device.
  void add(profile const& profile, measured_time const& when, thread_lanes const* lanes) {
    own_vector<bool> has_waited(profile.samples.size());
    if (profile.sampling && lanes != nullptr && !profile.api_calls.empty()) {
      grow_rows(waits_, profile.paths.size());
      add_device_waits(waits_, profile, *lanes, when, has_waited);
    }
    if (profile.samples.empty()) return;
    own_vector<std::map<std::uint32_t, counted_time>> by_position(profile.paths.size() + 1);
    measured_time_cursor in{when};
    for (std::size_t i = 0; i < profile.samples.size(); ++i) {
      sample_record const& each = profile.samples[i];
      if (!in.contains(each.time) || has_waited[i]) continue;
      by_position[each.path == path_record::no_parent ? profile.paths.size() : each.path][each.function].add(1, each.weight);
    }
    grow_rows(rows_, profile.paths.size());
    for (std::size_t path = 0; path <= profile.paths.size(); ++path) {
      functions& to = path == profile.paths.size() ? outside_ : rows_[path];
      for (auto const& [position, each] : by_position[path]) {
        function_record const& function = profile.functions[position];
        function_key const key{function.name, function.module, function.caller};
        add_to(to[key], each);
        if (!function.file.empty()) keep(key, {function.file, function.line});
      }
    }
  }

  /// The source position of a function; without a file if it is unknown.
  [[nodiscard]] place place_of(function_key const& function) const {
    auto const found = places_.find(function);
    return found == places_.end() ? place{} : found->second;
  }

  /// Whether all positions of paths are below a number.
  [[nodiscard]] bool is_in(std::size_t paths) const noexcept { return rows_.size() <= paths && waits_.size() <= paths; }

  /// The number of rows for paths; later paths have no samples.
  [[nodiscard]] std::size_t paths() const noexcept { return rows_.size(); }
  [[nodiscard]] functions const& of_path(std::size_t path) const { return rows_[path]; }
  /// The calls of a path that wait for a device.
  [[nodiscard]] device_waits const& waits_of(std::size_t path) const {
    static device_waits const none;
    return path < waits_.size() ? waits_[path] : none;
  }
  /// The samples outside any scope.
  [[nodiscard]] functions const& outside() const noexcept { return outside_; }

  auto members() { return listed(rows_, outside_, places_, waits_); }

 private:
  /// Functions can share a key, for example overloads. Keeps the smallest place.
  void keep(function_key const& function, place const& where) {
    auto const [known, is_new] = places_.emplace(function, where);
    if (!is_new) known->second = std::min(known->second, where);
  }

  own_vector<functions> rows_;  ///< by path
  functions outside_;
  std::map<function_key, place> places_;
  own_vector<device_waits> waits_;  ///< by path
};

/// A share with its 95 % interval. Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
/// the American Statistical Association 22 (1927).
/// @param share from 0 to 1.
/// @param trials total number of samples; may be estimated.
inline sampled_share share_of_samples(double share, double trials) {
  if (!(trials > 0.0)) return {share, 0.0, 1.0};
  constexpr double z = 1.959964;
  double const scale = 1.0 + z * z / trials;
  double const middle = (share + z * z / (2.0 * trials)) / scale;
  double const half = z * std::sqrt(share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)) / scale;
  return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

/// Builds the rows of host samples.
class sample_rows {
 public:
  /// @param tree has rows.
  /// @param scopes the rows.
  sample_rows(path_tree const& tree, sample_sums const& sums, own_vector<scope_summary> const& scopes)
      : tree_{tree}, sums_{sums}, scopes_{scopes} {}

  [[nodiscard]] host_samples_summary make(sampling_record const& how) const {
    host_samples_summary result;
    result.mechanism = how.mechanism;
    result.interval = how.interval;
    result.lost = how.lost;
    result.threads = how.threads;
    result.threads_without = how.threads_without;
    result.why_without = how.why_without;
    result.why_no_lines = how.why_no_lines;
    double const system = static_cast<double>(how.time.system.count());
    if (double const process = static_cast<double>(how.time.user.count()) + system; process > 0.0) {
      result.share_of_process = std::min(1.0, static_cast<double>(how.time.samples.count()) / process);
      result.kernel_share = system / process;
    }
    sample_sums::functions all;
    for (std::uint32_t const path : tree_.in_order()) {
      sampled_scope_summary row = row_of_path(path, how);
      bool const has_waited = how.threads_without == 0 && row.self && *row.self >= min_intervals * milliseconds{how.interval};
      if (row.samples == 0 && !has_waited) continue;
      if (row.samples > 0) add_to(all, sums_.of_path(path));
      result.scopes.push_back(std::move(row));
    }
    if (!sums_.outside().empty()) {
      add_to(all, sums_.outside());
      sampled_scope_summary outside;
      fill(outside, sums_.outside(), how);
      result.scopes.push_back(std::move(outside));
    }
    sampled_scope_summary whole;
    fill(whole, all, how);
    result.samples = whole.samples;
    result.sampled = whole.sampled;
    result.functions = std::move(whole.functions);
    auto const time = [](sampled_scope_summary const& each) { return each.self.value_or(each.sampled); };
    own_stable_sort(result.scopes.begin(), result.scopes.end(), [&](auto const& a, auto const& b) { return time(a) > time(b); });
    return result;
  }

 private:
  static constexpr std::size_t max_functions = 32;
  static constexpr std::size_t max_waits = 8;
  static constexpr double min_wait = 0.001;      ///< minimum share of the scope
  static constexpr double min_intervals = 10.0;  ///< minimum length of scopes without samples, in sampling intervals, to count as waiting

  [[nodiscard]] sampled_scope_summary row_of_path(std::uint32_t path, sampling_record const& how) const {
    sampled_scope_summary result;
    result.path = path_text(tree_.paths(), path);
    if (std::size_t const row = tree_.row_of(path); row != path_tree::no_row && scopes_[row].host.count > 0) {
      result.scope = row;
      result.self = std::max(scopes_[row].host_self, milliseconds{});
    }
    static sample_sums::functions const none;
    fill(result, path < sums_.paths() ? sums_.of_path(path) : none, how);
    if (result.waiting) fill_waits(result, sums_.waits_of(path));
    return result;
  }

  /// Names parts of the waiting time. Their sum is at most the waiting time.
  static void fill_waits(sampled_scope_summary& to, device_waits const& waits) {
    milliseconds const whole = std::max(*to.self, to.sampled);
    for (auto const& [name, each] : waits) {
      to.waits.push_back({name, each.count, milliseconds{static_cast<double>(each.ns) * 1e-6}, 0.0});
    }
    own_stable_sort(to.waits.begin(), to.waits.end(), [](auto const& a, auto const& b) { return a.time > b.time; });
    if (to.waits.size() > max_waits) to.waits.resize(max_waits);
    milliseconds left = whole - to.sampled;
    for (sampled_wait_summary& each : to.waits) {
      each.time = std::min(each.time, left);
      each.share = each.time / whole;
      left -= each.time;
    }
    while (!to.waits.empty() && !(to.waits.back().share >= min_wait)) to.waits.pop_back();
  }

  static milliseconds ms_of(counted_time const& sum) { return std::chrono::nanoseconds{static_cast<std::int64_t>(sum.ns)}; }

  /// A sample counts in the step in which it was taken, a scope in the step in which it began. So `sampled` can exceed `self`.
  void fill(sampled_scope_summary& to, sample_sums::functions const& functions, sampling_record const& how) const {
    counted_time sum;
    for (auto const& [function, each] : functions) add_to(sum, each);
    to.samples = sum.count;
    to.sampled = ms_of(sum);
    milliseconds const whole = std::max(to.self.value_or(to.sampled), to.sampled);
    double const trials =
        to.sampled.count() > 0.0 ? static_cast<double>(sum.count) * (whole / to.sampled) : whole / milliseconds{how.interval};
    if (to.self && whole.count() > 0.0) to.waiting = share_of_samples(1.0 - to.sampled / whole, trials);
    own_vector<sample_sums::functions::const_iterator> order;
    for (auto at = functions.begin(); at != functions.end(); ++at) order.push_back(at);
    own_stable_sort(order.begin(), order.end(), [](auto const& a, auto const& b) { return a->second.ns > b->second.ns; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      auto const& [function, each] = *order[i];
      if (i >= max_functions) {
        ++to.other_functions;
        to.other_time += ms_of(each);
        continue;
      }
      sampled_function_summary row;
      std::tie(row.name, row.module, row.caller) = function;
      std::tie(row.file, row.line) = sums_.place_of(function);
      row.samples = each.count;
      row.time = ms_of(each);
      row.share_of_scope = share_of_samples(whole.count() > 0.0 ? row.time / whole : 0.0, trials);
      to.functions.push_back(std::move(row));
    }
  }

  path_tree const& tree_;
  sample_sums const& sums_;
  own_vector<scope_summary> const& scopes_;
};

}  // namespace PROFKIT_NAMESPACE::detail
