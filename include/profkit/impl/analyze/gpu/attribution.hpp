// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "innermost_scopes.hpp"

namespace profkit {

/// @brief The launching call, the scope and the path of each GPU operation. Positions refer to the lists of the profile.
///
///     profkit::attribution const launched = profkit::attribute(profile);
///     for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
///       if (launched.path_of[i] == profkit::attribution::none) continue;   // outside any scope
///       fmt::print("{}\n", profile.paths[launched.path_of[i]].name);
///     }
///
/// A plain value: valid as long as the lists of the profile do not change. It keeps no reference to the profile.
struct attribution {
  static constexpr std::uint32_t none = detail::no_scope;  ///< position that stands for no call, scope or path

  detail::own_vector<std::uint32_t> launch_of;  ///< by GPU operation: the launching API call; `none` if it was not recorded
  detail::own_vector<std::uint32_t> scope_of;   ///< by GPU operation: the innermost scope open at its launch; `none` outside any scope
  /// @brief By GPU operation: the path that it is charged to. For operations of a CUDA graph, the path of the scope in which the node was
  /// captured, if known; otherwise the path of `scope_of`, or the default scope of the launching thread. `none` if all are unknown.
  detail::own_vector<std::uint32_t> path_of;
  detail::own_vector<std::uint32_t> parent_of;  ///< by scope: the scope around it on its thread; `none` for the roots of the tree
  detail::own_vector<bool> has_operation;       ///< by API call: an operation that it launched is known

  detail::thread_lanes lanes;  ///< the scopes of each thread, in order of their ends
};

namespace detail {

/// A launching call contains no beginning and no end of a scope of its thread, so every moment in it has the same innermost scope. The
/// middle tolerates the largest difference between the clocks of scopes and CUPTI.
inline timestamp middle_of(interval const& call) { return call.begin + call.duration() / 2; }

/// Finds the first call with a correlation number.
///
/// Correlations are assigned in sequence, so their low bits rarely collide, and consecutive calls have neighbouring buckets.
class correlation_index {
 public:
  explicit correlation_index(detail::own_vector<api_call_record>&&) = delete;  // borrowed, so no converted temporary
  explicit correlation_index(detail::own_vector<api_call_record> const& calls) : calls_{calls}, next_(calls.size()) {
    while ((std::size_t{1} << bits_) < calls.size()) ++bits_;
    first_.assign(std::size_t{1} << bits_, attribution::none);
    for (auto call = static_cast<std::uint32_t>(calls.size()); call-- > 0;) {
      std::uint32_t& first = first_[bucket_of(calls[call].correlation)];
      next_[call] = first;
      first = call;
    }
  }

  /// @return the position of the call; `attribution::none` if there is none.
  [[nodiscard]] std::uint32_t find(std::uint64_t correlation) const {
    std::uint32_t call = first_[bucket_of(correlation)];
    while (call != attribution::none && calls_[call].correlation != correlation) call = next_[call];
    return call;
  }

 private:
  /// Mixes in the high bits, so that correlations at regular distances do not collide. Consecutive calls have the same high bits.
  [[nodiscard]] std::size_t bucket_of(std::uint64_t correlation) const {
    std::uint64_t const high = ((correlation >> bits_) * 0x9e3779b97f4a7c15U) >> (64U - bits_);
    return (correlation ^ high) & (first_.size() - 1);
  }

  detail::own_vector<api_call_record> const& calls_;
  unsigned bits_ = 1;                        ///< logarithm of the number of buckets
  detail::own_vector<std::uint32_t> first_;  ///< by bucket: the first call in it
  detail::own_vector<std::uint32_t> next_;   ///< by call: the next call in its bucket
};

/// Finds the path of the scope in which a node of a graph was captured.
class graph_node_index {
 public:
  /// Later records of a node replace earlier ones.
  explicit graph_node_index(profile const& profile) {
    path_of_.reserve(profile.graph_nodes.size());
    for (graph_node_record const& each : profile.graph_nodes) path_of_[each.node] = each.path;
  }

  /// @return `attribution::none` if the node was captured outside any scope; nothing if its capture was not recorded.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t node) const {
    auto const known = path_of_.find(node);
    return known == path_of_.end() ? std::nullopt : std::optional{known->second};
  }

 private:
  static_assert(path_record::no_parent == attribution::none);

  detail::own_hash_map<std::uint64_t, std::uint32_t> path_of_;  ///< by `graph_node_record::node`
};

/// By thread of the profile: the path of its default scope. CUPTI's API records identify a thread only by its system number.
inline detail::own_vector<std::uint32_t> default_paths(profile const& profile) {
  detail::own_hash_map<std::uint64_t, std::uint32_t> by_system_id;
  detail::own_vector<std::uint32_t> result;
  for (thread_record const& each : profile.threads) {
    result.push_back(each.default_path);
    if (each.default_path != path_record::no_parent) by_system_id[each.system_id] = each.default_path;
  }
  // With all API calls, a call may refer to an entry of its system thread that has no default scope.
  for (std::size_t i = 0; profile.has_all_api_calls && i < result.size(); ++i) {
    auto const known = by_system_id.find(profile.threads[i].system_id);
    if (known != by_system_id.end()) result[i] = known->second;
  }
  return result;
}

/// Fills `path_of`: first the captured scope of a graph node, then the scope of the launch, then the default scope of its thread.
inline void find_paths(attribution& result, profile const& profile) {
  graph_node_index const captured{profile};
  detail::own_vector<std::uint32_t> const rest = default_paths(profile);
  result.path_of.reserve(profile.gpu_operations.size());
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::uint64_t const node = profile.graph_nodes.empty() ? 0 : profile.gpu_operations[i].graph_node;
    std::uint32_t path = node == 0 ? attribution::none : captured.find(node).value_or(attribution::none);
    if (path == attribution::none && result.scope_of[i] != attribution::none) path = profile.scopes[result.scope_of[i]].path;
    std::uint32_t const launch = result.launch_of[i];
    if (path == attribution::none && launch != attribution::none) path = rest[profile.api_calls[launch].thread];
    result.path_of.push_back(path);
  }
}

}  // namespace detail

/// @brief Charges each GPU operation to the innermost scope that was open on the launching thread during the launching call; for an
/// operation of a CUDA graph, during the capture of its node. Takes time proportional to the records (n log n if they are out of order).
/// Thread-safe. Uses only host data, so it neither needs nor synchronises a device. Rules and examples: docs/kernels.md.
/// @param profile a complete profile, such as `report::profile()` or one from `profkit::load`.
/// @return the attribution; positions refer to the lists of the profile.
[[nodiscard]] inline attribution attribute(profile const& profile) {
  attribution result;
  result.launch_of.assign(profile.gpu_operations.size(), attribution::none);
  result.scope_of.assign(profile.gpu_operations.size(), attribution::none);

  detail::correlation_index const index{profile.api_calls};
  result.has_operation.resize(profile.api_calls.size());
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::uint32_t const launch = index.find(profile.gpu_operations[i].correlation);
    result.launch_of[i] = launch;
    if (launch != attribution::none) result.has_operation[launch] = true;
  }

  // Only calls with a known operation need a scope. The middle of a call identifies it: see `middle_of`.
  result.lanes = detail::thread_lanes{profile};
  ::profkit::detail::own_vector<std::uint32_t> const scope_of_call = detail::innermost_scopes(
      profile, result.lanes, profile.api_calls, [&](std::uint32_t call) { return result.has_operation[call]; },
      [&](std::uint32_t call) { return detail::middle_of(profile.api_calls[call].time); }, result.parent_of);
  for (std::size_t i = 0; i < result.launch_of.size(); ++i) {
    if (result.launch_of[i] != attribution::none) result.scope_of[i] = scope_of_call[result.launch_of[i]];
  }
  detail::find_paths(result, profile);
  return result;
}

/// @brief Whether a kernel collector was active, so that a profile without GPU operations means no GPU work. False also if the collector
/// failed; `collector_record::reason` states why.
[[nodiscard]] inline bool has_kernels(profile const& profile) {
  return std::any_of(profile.collectors.begin(), profile.collectors.end(),
                     [](collector_record const& each) { return each.kind == collector_kind::kernels && each.status == "collected"; });
}

}  // namespace profkit
