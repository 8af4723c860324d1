// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

inline constexpr std::uint32_t no_scope = 0xffffffffU;

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

  list scopes;   ///< by their ends, as they were recorded
  list records;  ///< that are looked for in them
};

/// Walks one lane from its end to its beginning. Backwards, a scope comes before those inside it, so that a stack holds the open ones.
class lane_walk {
 public:
  /// @param parent_of gets, by scope, the scope around it.
  lane_walk(profile const& of, std::vector<std::uint32_t>& parent_of) : of_{of}, parent_of_{parent_of} {
    parents_.reserve(of.paths.size());
    for (path_record const& path : of.paths) parents_.push_back(path.parent);
  }

  /// @param scope_of gets, by record, the innermost scope.
  template <class TimeOf>
  void operator()(thread_lane& lane, TimeOf const& time_of, std::vector<std::uint32_t>& scope_of) {
    lane.scopes.sort([&](std::uint32_t scope) { return of_.scopes[scope].time.end; });
    lane.records.sort(time_of);
    std::vector<std::uint32_t> const& scopes = lane.scopes.positions;
    std::vector<std::uint32_t> const& records = lane.records.positions;
    open_.clear();
    std::size_t left = scopes.size();
    for (std::size_t i = records.size(); i-- > 0;) {
      timestamp const moment = time_of(records[i]);
      while (left > 0 && of_.scopes[scopes[left - 1]].time.end >= moment) open(scopes[--left]);
      close_after(moment);
      if (!open_.empty()) scope_of[records[i]] = open_.back().scope;
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
      if (parent != open_.rend()) parent_of_[scope] = parent->scope;
    }
    open_.push_back({record.time.begin, scope, record.path});
  }

  profile const& of_;
  std::vector<std::uint32_t>& parent_of_;
  std::vector<std::uint32_t> parents_;  ///< by path
  std::vector<open_scope> open_;
};

/// By record: the innermost scope that was open on its thread at some moment; `no_scope` outside any, and of records that are not wanted.
/// Takes time in proportion to scopes and records, n log n if they are out of order.
/// @param records have a position in `profile::threads`.
/// @param is_wanted of the position of a record.
/// @param time_of gives the moment by the position of a record: not one at which a scope of the thread begins or ends.
/// @param parent_of becomes, by scope, the scope around it on its thread; `no_scope` for the roots of the tree.
template <class Records, class IsWanted, class TimeOf>
std::vector<std::uint32_t> innermost_scopes(profile const& of, Records const& records, IsWanted const& is_wanted, TimeOf const& time_of,
                                            std::vector<std::uint32_t>& parent_of) {
  std::vector<thread_lane> lanes;
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
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (is_wanted(i)) lanes[lane_of[records[i].thread]].records.add(i, time_of(i));
  }

  parent_of.assign(of.scopes.size(), no_scope);
  std::vector<std::uint32_t> scope_of(records.size(), no_scope);
  lane_walk walk{of, parent_of};
  for (thread_lane& lane : lanes) walk(lane, time_of, scope_of);
  return scope_of;
}

}  // namespace profkit::detail
