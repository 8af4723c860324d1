// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../time/thread_lanes.hpp"

namespace profkit::detail {

inline constexpr std::uint32_t no_scope = 0xffffffffU;

/// Walks one lane backwards. Backwards, a scope comes before the scopes inside it, so a stack holds the open scopes.
class lane_walk {
 public:
  /// @param parent_of receives the parent of each scope.
  lane_walk(profile const& profile, own_vector<std::uint32_t>& parent_of) : profile_{profile}, parent_of_{parent_of} {
    parents_.reserve(profile.paths.size());
    for (path_record const& path : profile.paths) parents_.push_back(path.parent);
  }

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

}  // namespace profkit::detail
