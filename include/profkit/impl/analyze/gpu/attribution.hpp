// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../time/path_tree.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Positions of records by group, stored contiguously.
class grouped_positions {
 public:
  struct range {
    std::uint32_t const* first = nullptr;
    std::uint32_t const* last = nullptr;

    [[nodiscard]] std::uint32_t const* begin() const noexcept { return first; }
    [[nodiscard]] std::uint32_t const* end() const noexcept { return last; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(last - first); }
    [[nodiscard]] std::uint32_t operator[](std::size_t i) const noexcept { return first[i]; }
  };

  grouped_positions() = default;

  /// Sorts each group by time; records with equal times keep their order.
  /// @param group_of the group of a position, below `groups`; or `groups` for a record without a group.
  template <class GroupOf, class TimeOf>
  grouped_positions(std::size_t records, std::size_t groups, GroupOf const& group_of, TimeOf const& time_of) : ends_(groups + 1) {
    // Consecutive records are often of one group, so numbers of a group stay in registers while it lasts.
    auto const for_each_run = [&](auto const& visit) {
      for (std::uint32_t i = 0; i < records;) {
        std::uint32_t const first = i;
        std::size_t const group = group_of(first);
        while (++i < records && group_of(i) == group) {
        }
        visit(group, first, i);
      }
    };
    own_vector<std::size_t> sizes(groups + 1);
    for_each_run([&](std::size_t group, std::uint32_t first, std::uint32_t end) { sizes[group] += end - first; });
    for (std::size_t group = 1; group < groups; ++group) ends_[group] = ends_[group - 1] + sizes[group - 1];
    positions_.resize(records - sizes[groups]);
    own_vector<timestamp> last(groups, timestamp::min());
    own_vector<bool> is_sorted(groups, true);
    for_each_run([&](std::size_t group, std::uint32_t first, std::uint32_t end) {
      if (group == groups) return;
      std::iota(positions_.data() + ends_[group], positions_.data() + ends_[group] + (end - first), first);
      ends_[group] += end - first;
      timestamp before = last[group];
      bool is_run_sorted = true;
      for (std::uint32_t i = first; i < end; ++i) {
        timestamp const time = time_of(i);
        is_run_sorted = is_run_sorted && time >= before;
        before = time;
      }
      is_sorted[group] = is_sorted[group] && is_run_sorted;
      last[group] = before;
    });
    ends_.pop_back();
    for (std::size_t group = 0; group < groups; ++group) {
      if (is_sorted[group]) continue;
      own_stable_sort(positions_.data() + begin_of(group), positions_.data() + ends_[group],
                      [&](std::uint32_t a, std::uint32_t b) { return time_of(a) < time_of(b); });
    }
  }

  [[nodiscard]] range operator[](std::size_t group) const {
    return {positions_.data() + begin_of(group), positions_.data() + ends_[group]};
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t group) const { return group == 0 ? 0 : ends_[group - 1]; }

  own_vector<std::size_t> ends_;  ///< end of each group
  own_vector<std::uint32_t> positions_;
};

/// The scopes of each system thread, in the order of their ends. Several threads of the profile can be one lane, because logs and system
/// thread numbers are reused.
class thread_lanes {
 public:
  thread_lanes() = default;

  explicit thread_lanes(profile const& profile) {
    own_hash_map<std::uint64_t, std::uint32_t> known;  // lane by system thread number
    for (thread_record const& thread : profile.threads) {
      lane_of_.push_back(known.try_emplace(thread.system_id, static_cast<std::uint32_t>(known.size())).first->second);
    }
    count_ = known.size();
    scopes_ = grouped_positions{profile.scopes.size(), count_, [&](std::uint32_t scope) { return lane_of_[profile.scopes[scope].thread]; },
                                [&](std::uint32_t scope) { return profile.scopes[scope].time.end; }};
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// @param thread position in `profile::threads`.
  [[nodiscard]] std::uint32_t lane_of(std::uint32_t thread) const { return lane_of_[thread]; }

  [[nodiscard]] grouped_positions::range scopes(std::size_t lane) const { return scopes_[lane]; }

 private:
  own_vector<std::uint32_t> lane_of_;  ///< lane of each thread
  std::size_t count_ = 0;
  grouped_positions scopes_;
};

inline constexpr std::uint32_t no_scope = 0xffffffffU;

/// Walks one lane backwards. Backwards, a scope comes before the scopes inside it, so a stack holds the open scopes.
class lane_walk {
 public:
  /// @param parent_of receives the parent of each scope.
  lane_walk(profile const& profile, own_vector<std::uint32_t>& parent_of)
      : profile_{profile}, parent_of_{parent_of}, parents_{parents_of(profile.paths)} {}

  /// @param scope_of receives the innermost scope of each record.
  template <class TimeOf>
  void operator()(grouped_positions::range scopes, grouped_positions::range records, TimeOf const& time_of,
                  own_vector<std::uint32_t>& scope_of) {
    depth_ = 0;
    std::size_t left = scopes.size();
    timestamp next_end = end_of_last(scopes, left);
    for (std::size_t i = records.size(); i-- > 0;) {
      std::uint32_t const record = records[i];
      timestamp const moment = time_of(record);
      while (next_end >= moment && left > 0) {
        open(scopes[--left]);
        next_end = end_of_last(scopes, left);
      }
      close_after(moment);
      if (depth_ > 0) scope_of[record] = open_[depth_ - 1].scope;
    }
    while (left > 0) open(scopes[--left]);
  }

 private:
  struct open_scope {
    timestamp begin;
    std::uint32_t scope;
    std::uint32_t path;
  };

  [[nodiscard]] timestamp end_of_last(grouped_positions::range scopes, std::size_t count) const {
    return count > 0 ? profile_.scopes[scopes[count - 1]].time.end : timestamp::min();
  }

  void close_after(timestamp moment) {
    while (depth_ > 0 && open_[depth_ - 1].begin > moment) --depth_;
  }

  void open(std::uint32_t scope) {
    scope_record const& record = profile_.scopes[scope];
    close_after(record.time.begin);
    // A step is the root of a new tree, even if scopes are open around the loop.
    std::uint32_t const parent_path = parents_[record.path];
    if (parent_path != path_record::no_parent) {
      std::size_t parent = depth_;
      while (parent > 0 && open_[parent - 1].path != parent_path) --parent;
      if (parent > 0) parent_of_[scope] = open_[parent - 1].scope;
    }
    if (depth_ == open_.size()) open_.resize(2 * depth_ + 16);
    open_[depth_++] = {record.time.begin, scope, record.path};
  }

  profile const& profile_;
  own_vector<std::uint32_t>& parent_of_;
  own_vector<std::uint32_t> parents_;  ///< by path
  own_vector<open_scope> open_;        ///< entries beyond `depth_` are kept for reuse
  std::size_t depth_ = 0;
};

/// Finds for each record the innermost scope open on its thread; `no_scope` outside any scope and for records that are not wanted. Takes
/// time proportional to scopes and records (n log n if they are out of order).
/// @param records records with a position in `profile::threads`.
/// @param is_wanted called with the position of a record.
/// @param time_of the time of the record at a position; not the beginning or the end of a scope of its thread.
/// @param parent_of receives the parent of each scope on its thread; `no_scope` for roots.
template <class Records, class IsWanted, class TimeOf>
own_vector<std::uint32_t> innermost_scopes(profile const& profile, thread_lanes const& lanes, Records const& records,
                                           IsWanted const& is_wanted, TimeOf const& time_of, own_vector<std::uint32_t>& parent_of) {
  auto const lane_of = [&](std::uint32_t record) {
    return is_wanted(record) ? std::size_t{lanes.lane_of(records[record].thread)} : lanes.count();
  };
  grouped_positions const by_lane{records.size(), lanes.count(), lane_of, time_of};
  parent_of.assign(profile.scopes.size(), no_scope);
  own_vector<std::uint32_t> scope_of(records.size(), no_scope);
  lane_walk walk{profile, parent_of};
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) walk(lanes.scopes(lane), by_lane[lane], time_of, scope_of);
  return scope_of;
}

}  // namespace PROFKIT_NAMESPACE::detail

namespace PROFKIT_NAMESPACE {

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
  /// captured, if known, inside the scope of the launch if the capture was outside steps; otherwise the path of `scope_of`, or the default
  /// scope of the launching thread. `none` if all are unknown.
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

/// By node of a graph: the path of the scope in which it was captured; `attribution::none` outside any scope.
inline detail::own_hash_map<std::uint64_t, std::uint32_t> captured_paths(profile const& profile) {
  static_assert(path_record::no_parent == attribution::none);
  detail::own_hash_map<std::uint64_t, std::uint32_t> result;
  result.reserve(profile.graph_nodes.size());
  for (graph_node_record const& each : profile.graph_nodes) result[each.node] = each.path;  // later records replace earlier ones
  return result;
}

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

/// The places of a launch and of a capture as one number.
inline std::uint64_t replay_key(std::uint32_t launched_in, std::uint32_t captured_in) noexcept {
  return std::uint64_t{launched_in} << 32U | captured_in;
}

/// Fills `scope_of` and `path_of`: first the captured scope of a graph node, then the scope of the launch, then the default scope of its
/// thread.
/// @param scope_of_call the innermost scope of each launching call.
inline void find_paths(attribution& result, profile const& profile, own_vector<std::uint32_t> const& scope_of_call) {
  auto const captured = captured_paths(profile);
  detail::own_vector<std::uint32_t> const rest = default_paths(profile);
  detail::own_hash_map<std::uint64_t, std::uint32_t> replayed;
  for (replayed_scope_record const& each : profile.replayed_scopes) replayed[replay_key(each.launched_in, each.captured_in)] = each.path;
  result.scope_of.reserve(profile.gpu_operations.size());
  result.path_of.reserve(profile.gpu_operations.size());
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    std::uint64_t const node = profile.graph_nodes.empty() ? 0 : profile.gpu_operations[i].graph_node;
    auto const known = node == 0 ? captured.end() : captured.find(node);
    std::uint32_t path = known == captured.end() ? attribution::none : known->second;
    std::uint32_t launched_in = attribution::none;
    std::uint32_t const launch = result.launch_of[i];
    std::uint32_t const scope = launch == attribution::none ? attribution::none : scope_of_call[launch];
    result.scope_of.push_back(scope);
    if (scope != attribution::none) {
      launched_in = profile.scopes[scope].path;
    } else if (launch != attribution::none) {
      launched_in = rest[profile.api_calls[launch].thread];
    }
    auto const inside = replayed.empty() ? replayed.end() : replayed.find(replay_key(launched_in, path));
    if (inside != replayed.end()) path = inside->second;
    result.path_of.push_back(path == attribution::none ? launched_in : path);
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
  result.launch_of.reserve(profile.gpu_operations.size());
  detail::correlation_index const index{profile.api_calls};
  result.has_operation.resize(profile.api_calls.size());
  for (gpu_operation_record const& each : profile.gpu_operations) {
    std::uint32_t const launch = index.find(each.correlation);
    result.launch_of.push_back(launch);
    if (launch != attribution::none) result.has_operation[launch] = true;
  }

  // Only calls with a known operation need a scope. The middle of a call identifies it: see `middle_of`.
  result.lanes = detail::thread_lanes{profile};
  ::profkit::detail::own_vector<std::uint32_t> const scope_of_call = detail::innermost_scopes(
      profile, result.lanes, profile.api_calls, [&](std::uint32_t call) { return result.has_operation[call]; },
      [&](std::uint32_t call) { return detail::middle_of(profile.api_calls[call].time); }, result.parent_of);
  detail::find_paths(result, profile, scope_of_call);
  return result;
}

/// @brief Whether a kernel collector was active, so that a profile without GPU operations means no GPU work. False also if the collector
/// failed; `collector_record::reason` states why.
[[nodiscard]] inline bool has_kernels(profile const& profile) {
  return std::any_of(profile.collectors.begin(), profile.collectors.end(),
                     [](collector_record const& each) { return each.kind == collector_kind::kernels && each.status == "collected"; });
}

}  // namespace PROFKIT_NAMESPACE
