// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/measured_time.hpp"
#include "../time/quantiles.hpp"
#include "attribution.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The kind of a CUDA runtime or driver call, as far as it determines causes of GPU idle time.
enum class api_call_kind : std::uint8_t {
  other = 0,
  launch = 1,           ///< enqueues a kernel, a graph or a host function
  copy = 2,             ///< enqueues a copy or a memset, or waits until it is done
  synchronisation = 3,  ///< waits for the device
};

/// @param name as CUPTI reports it, such as "cudaLaunchKernel_v7000" or "cuMemcpyHtoDAsync_v2".
inline api_call_kind kind_of_api_call(std::string_view name) {
  for (std::string_view const prefix : {"cuda", "cu"}) {
    if (name.substr(0, prefix.size()) != prefix) continue;
    std::string_view const rest = name.substr(prefix.size());
    auto const begins_with = [&](std::string_view word) { return rest.substr(0, word.size()) == word; };
    if (begins_with("Launch") || begins_with("GraphLaunch")) return api_call_kind::launch;
    if (begins_with("Memcpy") || begins_with("Memset")) return api_call_kind::copy;
    if (rest.find("Synchronize") != std::string_view::npos) return api_call_kind::synchronisation;
    return api_call_kind::other;
  }
  return api_call_kind::other;
}

/// For each name: whether its calls enqueue work.
inline own_vector<bool> are_launching(own_vector<std::string> const& names) {
  own_vector<bool> result;
  for (std::string const& name : names) {
    api_call_kind const kind = kind_of_api_call(name);
    result.push_back(kind == api_call_kind::launch || kind == api_call_kind::copy);
  }
  return result;
}

/// Counts the GPU work that is missing in a copy of a running session's profile.
/// @param times_steps whether a collector adds to `profile::gpu_steps`.
/// @param into receives the counts.
inline void count_missing_work(profile const& so_far, bool times_steps, snapshot_record& into) {
  own_vector<bool> const launches = are_launching(so_far.api_names);
  own_vector<std::uint64_t> arrived;
  arrived.reserve(so_far.gpu_operations.size());
  for (gpu_operation_record const& each : so_far.gpu_operations) arrived.push_back(each.correlation);
  if (!std::is_sorted(arrived.begin(), arrived.end())) std::sort(arrived.begin(), arrived.end());
  into.missing_operations =
      static_cast<std::uint64_t>(std::count_if(so_far.api_calls.begin(), so_far.api_calls.end(), [&](api_call_record const& call) {
        return launches[call.name] && !std::binary_search(arrived.begin(), arrived.end(), call.correlation);
      }));
  if (!times_steps) return;
  own_vector<std::uint64_t> timed;
  for (gpu_step_record const& each : so_far.gpu_steps) timed.push_back(each.step);
  std::sort(timed.begin(), timed.end());
  into.untimed_steps = static_cast<std::uint64_t>(std::count_if(so_far.steps.begin(), so_far.steps.end(), [&](step_record const& step) {
    return !std::binary_search(timed.begin(), timed.end(), step.index);
  }));
}

/// The part of a GPU operation that most analyses need, compact because they iterate over all operations many times.
struct timed_operation {
  static constexpr std::chrono::nanoseconds no_latency = std::chrono::nanoseconds::min();

  interval time;

  /// Time from the beginning of the launching call to the start of the operation. `no_latency` if the call was not recorded, and for
  /// operations of a graph, which wait for their predecessors in the graph and not only for the launch.
  std::chrono::nanoseconds latency = no_latency;

  std::uint32_t record = 0;                 ///< position in `profile::gpu_operations`
  std::uint32_t path = attribution::none;   ///< the charged path
  std::uint32_t name = 0;                   ///< position in `profile::gpu_names`
  std::uint32_t scope = attribution::none;  ///< the scope that determines the path, if one does
  std::uint32_t step = no_step;             ///< position of the measured step in which it was launched; `no_step`: not counted
  gpu_operation_kind kind = gpu_operation_kind::kernel;

  [[nodiscard]] bool is_counted() const noexcept { return step != no_step; }
};

/// The launch time of an operation, or its own beginning if the launch was not recorded.
inline timestamp launch_moment(profile const& profile, attribution const& launched, std::size_t operation) {
  std::uint32_t const launch = launched.launch_of[operation];
  return launch == attribution::none ? profile.gpu_operations[operation].time.begin : middle_of(profile.api_calls[launch].time);
}

/// The interval from the first start to the last end of a set of operations.
struct operation_span {
  timestamp begin = timestamp::max();
  timestamp end = timestamp::min();

  template <class Archive>
  friend void fields(Archive& archive, operation_span& value) {
    archive(value.begin), archive(value.end);
    if constexpr (Archive::is_reader) archive.check(value.is_empty() || timestamp{} <= value.begin, "a time lies before 1970");
  }

  /// @return whether the span grew.
  bool add(interval const& time) {
    if (begin <= time.begin && time.end <= end) return false;
    begin = std::min(begin, time.begin);
    end = std::max(end, time.end);
    return true;
  }

  [[nodiscard]] bool is_empty() const { return end < begin; }
  [[nodiscard]] std::chrono::nanoseconds length() const { return end - begin; }
};

/// All operations in the order of their starts (ties in profile order), with a flag for those launched in the measured time.
class counted_operations {
 public:
  counted_operations(profile const& profile, attribution const& launched, measured_time const& when) : steps_(when.size()) {
    measured_time_cursor in{when};
    all_.reserve(profile.gpu_operations.size());
    // Operations usually arrive almost sorted, so insertion sort is fastest. Beyond this number of moves, a radix sort takes over.
    std::size_t moves_left = 16 * profile.gpu_operations.size();
    for (std::uint32_t i = 0; i < profile.gpu_operations.size(); ++i) {
      timed_operation& added = all_.emplace_back();  // filled in place: a copy waits until all members are written
      fill(added, profile, launched, i, in);
      if (added.is_counted()) steps_[added.step].add(added.time);
      if (i == 0 || moves_left == 0 || all_[i - 1U].time.begin <= added.time.begin) continue;
      timed_operation const operation = added;
      std::size_t place = i;
      while (place > 0 && moves_left > 0 && operation.time.begin < all_[place - 1].time.begin) {
        all_[place] = all_[place - 1];
        --place;
        --moves_left;
      }
      all_[place] = operation;
    }
    if (moves_left == 0) sort();
  }

  [[nodiscard]] own_vector<timed_operation> const& all() const noexcept { return all_; }

  /// @param visit called with each counted operation.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (timed_operation const& each : all_) {
      if (each.is_counted()) visit(each);
    }
  }

  /// @param earlier the measured time of earlier windows.
  /// @param visit called with each operation that counts, or that was launched in `earlier`.
  template <class Visit>
  void for_each_with(measured_time const& earlier, profile const& profile, attribution const& launched, Visit const& visit) const {
    bool const has_earlier = !earlier.is_empty();
    for (timed_operation const& each : all_) {
      if (each.is_counted() || (has_earlier && earlier.contains(launch_moment(profile, launched, each.record)))) visit(each);
    }
  }

  [[nodiscard]] own_vector<operation_span> const& steps() const noexcept { return steps_; }

 private:
  static void fill(timed_operation& result, profile const& profile, attribution const& launched, std::uint32_t which,
                   measured_time_cursor& in) {
    gpu_operation_record const& record = profile.gpu_operations[which];
    result.time = record.time;
    result.record = which;
    result.path = launched.path_of[which];
    std::uint32_t const scope = launched.scope_of[which];
    if (scope != attribution::none && profile.scopes[scope].path == result.path) result.scope = scope;
    result.name = record.name;
    result.kind = record.kind;
    timestamp moment = record.time.begin;
    if (std::uint32_t const launch = launched.launch_of[which]; launch != attribution::none) {
      interval const& call = profile.api_calls[launch].time;
      moment = middle_of(call);
      if (record.graph_node == 0) result.latency = record.time.begin - call.begin;
    }
    result.step = in.step_of(moment);
  }

  void sort() {
    own_vector<std::uint64_t> begins(all_.size());  // by position in the profile, which breaks ties
    own_vector<std::uint32_t> place_of(all_.size());
    for (std::uint32_t i = 0; i < all_.size(); ++i) {
      // Flipping the sign bit makes unsigned order equal to signed order.
      begins[all_[i].record] = static_cast<std::uint64_t>(all_[i].time.begin.time_since_epoch().count()) ^ (std::uint64_t{1} << 63U);
      place_of[all_[i].record] = i;
    }
    own_vector<timed_operation> sorted;
    sorted.reserve(all_.size());
    for (std::uint32_t const record : bucket_order{begins}.positions()) sorted.push_back(all_[place_of[record]]);
    all_ = std::move(sorted);
  }

  own_vector<timed_operation> all_;
  own_vector<operation_span> steps_;
};

}  // namespace PROFKIT_NAMESPACE::detail
