// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"

namespace profkit::detail {

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
    own_vector<std::size_t> sizes(groups + 1);
    for (std::uint32_t i = 0; i < records; ++i) ++sizes[group_of(i)];
    for (std::size_t group = 1; group < groups; ++group) ends_[group] = ends_[group - 1] + sizes[group - 1];
    positions_.resize(records - sizes[groups]);
    own_vector<timestamp> last(groups, timestamp::min());
    own_vector<bool> is_sorted(groups, true);
    for (std::uint32_t i = 0; i < records; ++i) {
      std::size_t const group = group_of(i);
      if (group == groups) continue;
      positions_[ends_[group]++] = i;
      timestamp const time = time_of(i);
      if (time < last[group]) is_sorted[group] = false;
      last[group] = time;
    }
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

  /// @return positions in `profile::scopes`.
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
