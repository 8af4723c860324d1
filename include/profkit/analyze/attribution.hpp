// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "bucket_order.hpp"

namespace profkit {

/// Which API call launched each GPU operation, in which scope, and what it is charged to. Positions are those of the lists in the profile.
struct attribution {
  static constexpr std::uint32_t none = 0xffffffffU;

  std::vector<std::uint32_t> launch_of;  ///< by GPU operation: the API call that launched it; `none` if it was not recorded
  std::vector<std::uint32_t> scope_of;   ///< by GPU operation: the innermost scope open at its launch; `none` outside any scope
  /// By GPU operation: the path that it is charged to. Of what a CUDA graph ran, that of the scope in which its node was captured, as far
  /// as that is known; else that of `scope_of`; else where what its thread does outside scopes belongs. `none` if none of them is known.
  std::vector<std::uint32_t> path_of;
  std::vector<std::uint32_t> parent_of;  ///< by scope: the scope around it on its thread; `none` for the roots of the tree
};

namespace detail {

/// A launching call cannot contain the beginning or the end of a scope of its thread, so any moment in it is in the same scopes. The
/// middle is the one that leaves most room for the difference between the clock of the scopes and the clock of CUPTI.
inline timestamp middle_of(interval const& call) { return call.begin + call.duration() / 2; }

/// Finds calls by their correlation; of those that share one, the first.
class correlation_index {
 public:
  explicit correlation_index(std::vector<api_call_record> const& calls) : calls_{calls}, order_{correlations(calls)} {}

  [[nodiscard]] std::uint32_t find(std::uint64_t correlation) const {
    return order_.find(
        correlation, [&](std::uint32_t call) { return calls_[call].correlation; }, attribution::none);
  }

 private:
  static std::vector<std::uint64_t> correlations(std::vector<api_call_record> const& calls) {
    std::vector<std::uint64_t> result;
    result.reserve(calls.size());
    for (api_call_record const& call : calls) result.push_back(call.correlation);
    return result;
  }

  std::vector<api_call_record> const& calls_;
  bucket_order order_;
};

/// Finds the path of the scope in which a node of a graph was captured.
class graph_node_index {
 public:
  explicit graph_node_index(profile const& of) {
    path_of_.reserve(of.graph_nodes.size());
    for (graph_node_record const& each : of.graph_nodes) path_of_[each.node] = each.path;
  }

  /// @return `attribution::none` if it was captured outside any scope; n/a if its capture was not seen.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t node) const {
    auto const known = path_of_.find(node);
    return known == path_of_.end() ? std::nullopt : std::optional{known->second};
  }

 private:
  static_assert(path_record::no_parent == attribution::none);

  std::unordered_map<std::uint64_t, std::uint32_t> path_of_;
};

/// What happened on one thread of the system. Several threads of the profile may be the same one: a log is used again, and so is the
/// system's number.
struct thread_lane {
  /// Positions of records, in the order of the time that each was added with.
  struct list {
    std::vector<std::uint32_t> positions;
    timestamp last = timestamp::min();
    bool is_sorted = true;

    void add(std::uint32_t position, timestamp time) {
      positions.push_back(position);
      is_sorted = is_sorted && last <= time;
      last = time;
    }

    template <class TimeOf>
    void sort(TimeOf time_of) {
      if (is_sorted) return;
      std::stable_sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) { return time_of(a) < time_of(b); });
    }
  };

  list scopes;  ///< by their ends, as they were recorded
  list calls;   ///< those that launched something, by their middles
};

/// Walks one lane from its end to its beginning. Backwards, a scope comes before those inside it, so that a stack holds the open ones.
class lane_walk {
 public:
  lane_walk(profile const& of, attribution& result, std::vector<std::uint32_t>& scope_of_call)
      : of_{of}, result_{result}, scope_of_call_{scope_of_call} {
    parents_.reserve(of.paths.size());
    for (path_record const& path : of.paths) parents_.push_back(path.parent);
  }

  void operator()(thread_lane& lane) {
    lane.scopes.sort([&](std::uint32_t scope) { return of_.scopes[scope].time.end; });
    lane.calls.sort([&](std::uint32_t call) { return middle_of(of_.api_calls[call].time); });
    std::vector<std::uint32_t> const& scopes = lane.scopes.positions;
    std::vector<std::uint32_t> const& calls = lane.calls.positions;
    open_.clear();
    std::size_t left = scopes.size();
    for (std::size_t i = calls.size(); i-- > 0;) {
      timestamp const moment = middle_of(of_.api_calls[calls[i]].time);
      while (left > 0 && of_.scopes[scopes[left - 1]].time.end >= moment) open(scopes[--left]);
      close_after(moment);
      if (!open_.empty()) scope_of_call_[calls[i]] = open_.back().scope;
    }
    while (left > 0) open(scopes[--left]);
  }

 private:
  struct open_scope {
    timestamp begin;
    std::uint32_t scope;
    std::uint32_t path;
  };

  void close_after(timestamp moment) {
    while (!open_.empty() && open_.back().begin > moment) open_.pop_back();
  }

  void open(std::uint32_t scope) {
    scope_record const& record = of_.scopes[scope];
    close_after(record.time.begin);
    // A step begins a tree of its own inside whatever is open.
    std::uint32_t const parent_path = parents_[record.path];
    if (parent_path != path_record::no_parent) {
      auto const parent = std::find_if(open_.rbegin(), open_.rend(), [&](open_scope const& each) { return each.path == parent_path; });
      if (parent != open_.rend()) result_.parent_of[scope] = parent->scope;
    }
    open_.push_back({record.time.begin, scope, record.path});
  }

  profile const& of_;
  attribution& result_;
  std::vector<std::uint32_t>& scope_of_call_;
  std::vector<std::uint32_t> parents_;  ///< by path
  std::vector<open_scope> open_;
};

/// By thread of the profile: where its work outside scopes belongs. CUPTI's own records of API calls know only the system's number of the
/// thread.
inline std::vector<std::uint32_t> rest_paths(profile const& of) {
  std::unordered_map<std::uint64_t, std::uint32_t> by_system_id;
  std::vector<std::uint32_t> result;
  for (thread_record const& each : of.threads) {
    result.push_back(each.rest_path);
    if (each.rest_path != path_record::no_parent) by_system_id[each.system_id] = each.rest_path;
  }
  for (std::size_t i = 0; of.has_all_api_calls && i < result.size(); ++i) {
    auto const known = by_system_id.find(of.threads[i].system_id);
    if (known != by_system_id.end()) result[i] = known->second;
  }
  return result;
}

/// Fills `path_of`.
inline void find_paths(attribution& result, profile const& of) {
  graph_node_index const captured{of};
  std::vector<std::uint32_t> const rest = rest_paths(of);
  result.path_of.reserve(of.gpu_operations.size());
  for (std::size_t i = 0; i < of.gpu_operations.size(); ++i) {
    std::uint64_t const node = of.gpu_operations[i].graph_node;
    std::uint32_t path = node == 0 ? attribution::none : captured.find(node).value_or(attribution::none);
    if (path == attribution::none && result.scope_of[i] != attribution::none) path = of.scopes[result.scope_of[i]].path;
    std::uint32_t const launch = result.launch_of[i];
    if (path == attribution::none && launch != attribution::none) path = rest[of.api_calls[launch].thread];
    result.path_of.push_back(path);
  }
}

}  // namespace detail

/// Charges each GPU operation to the innermost scope that was open on the launching thread when the API call launched it; or, if a CUDA
/// graph ran it, when its node was captured.
/// Takes time in proportion to the records, n log n if they are out of order.
[[nodiscard]] inline attribution attribute(profile const& of) {
  attribution result;
  result.launch_of.assign(of.gpu_operations.size(), attribution::none);
  result.scope_of.assign(of.gpu_operations.size(), attribution::none);
  result.parent_of.assign(of.scopes.size(), attribution::none);

  detail::correlation_index const index{of.api_calls};
  std::vector<bool> is_launch(of.api_calls.size());
  for (std::size_t i = 0; i < of.gpu_operations.size(); ++i) {
    std::uint32_t const launch = index.find(of.gpu_operations[i].correlation);
    result.launch_of[i] = launch;
    if (launch != attribution::none) is_launch[launch] = true;
  }

  std::vector<detail::thread_lane> lanes;
  std::vector<std::size_t> lane_of;  // by thread
  std::unordered_map<std::uint64_t, std::size_t> lane_of_system_id;
  for (thread_record const& thread : of.threads) {
    lane_of.push_back(lane_of_system_id.try_emplace(thread.system_id, lanes.size()).first->second);
    lanes.resize(lane_of_system_id.size());
  }
  std::vector<std::size_t> scope_counts(lanes.size());
  for (scope_record const& scope : of.scopes) ++scope_counts[lane_of[scope.thread]];
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane].scopes.positions.reserve(scope_counts[lane]);
  for (std::uint32_t i = 0; i < of.scopes.size(); ++i) lanes[lane_of[of.scopes[i].thread]].scopes.add(i, of.scopes[i].time.end);
  for (std::uint32_t i = 0; i < of.api_calls.size(); ++i) {
    api_call_record const& call = of.api_calls[i];
    if (is_launch[i]) lanes[lane_of[call.thread]].calls.add(i, detail::middle_of(call.time));
  }

  std::vector<std::uint32_t> scope_of_call(of.api_calls.size(), attribution::none);
  detail::lane_walk walk{of, result, scope_of_call};
  for (detail::thread_lane& lane : lanes) walk(lane);
  for (std::size_t i = 0; i < result.launch_of.size(); ++i) {
    if (result.launch_of[i] != attribution::none) result.scope_of[i] = scope_of_call[result.launch_of[i]];
  }
  detail::find_paths(result, of);
  return result;
}

/// Whether the kernel collector worked, so that what is not in the profile did not happen.
[[nodiscard]] inline bool has_kernels(profile const& of) {
  return std::any_of(of.collectors.begin(), of.collectors.end(),
                     [](collector_record const& each) { return each.name == "kernels" && each.status == "collected"; });
}

}  // namespace profkit
