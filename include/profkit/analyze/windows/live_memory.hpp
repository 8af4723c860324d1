// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "../../profile/check_read.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/innermost_scopes.hpp"
#include "../memory/memory_before.hpp"
#include "../memory/memory_changes.hpp"
#include "../time/thread_lanes.hpp"

namespace profkit::detail {

/// The state of the allocators at the end of a window, with which the next window begins.
class live_memory {
 public:
  /// Returns the state at the beginning of a window that begins at the end of the previous one.
  /// @param profile the records of the window.
  [[nodiscard]] memory_before before(profile const& profile, interval const& own) const {
    memory_before result;
    result.bytes = bytes_;
    if (live_.empty()) return result;
    std::map<scope_key, std::uint32_t> open;  // positions
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      if (profile.scopes[i].time.begin < own.begin && own.begin <= profile.scopes[i].time.end) open[key_of(profile.scopes[i])] = i;
    }
    own_hash_set<std::uint64_t> addresses;
    for (allocation_record const& each : profile.allocations) {
      if (own.begin <= each.time && each.time < own.end) addresses.insert(each.address);
    }
    for (auto const& [where, piece] : live_) {
      if (addresses.count(where.second) == 0) continue;
      auto const scope = piece.is_in_scope ? open.find(piece.scope) : open.end();
      result.live.push_back({piece.record, piece.path, scope == open.end() ? live_allocation::none : scope->second});
    }
    return result;
  }

  /// Advances to the end of the window.
  /// @param at_begin the result of `before`.
  void pass(profile const& profile, interval const& own, memory_before const& at_begin) {
    for (std::size_t i = bytes_.size(); i < profile.allocators.size(); ++i) bytes_.push_back(profile.allocators[i].bytes_at_start);
    if (profile.allocations.empty() && live_.empty()) return;
    own_vector<std::uint32_t> parent_of;
    own_vector<std::uint32_t> const scope_of = innermost_scopes(
        profile, thread_lanes{profile}, profile.allocations, [](std::uint32_t) { return true; },
        [&](std::uint32_t each) { return profile.allocations[each].time; }, parent_of);
    auto const still_open = [&](std::uint32_t scope) {
      while (scope != no_scope && profile.scopes[scope].time.end < own.end) scope = parent_of[scope];
      return scope;
    };
    leave_closed_scopes(profile, own, still_open);
    own_vector<allocator_changes> const changes = memory_change_finder{profile, own, at_begin}.changes();
    for (std::size_t i = 0; i < changes.size(); ++i) {
      for (memory_change const& change : changes[i].in_order) {
        bytes_[i] += change.difference();
        if (change.origin == memory_change::unknown) continue;
        allocation_record const& record = change.origin < profile.allocations.size()
                                              ? profile.allocations[change.origin]
                                              : at_begin.live[change.origin - profile.allocations.size()].record;
        if (record.kind != allocation_kind::allocated) continue;
        if (change.is_release) {
          live_.erase({record.allocator, record.address});
        } else {
          add(record, profile, scope_of[change.origin], still_open(scope_of[change.origin]));
        }
      }
    }
  }

  /// @throws profkit::error if the object was read from a file and has positions outside these tables.
  void check(profile const& tables) const {
    bool is_right = bytes_.size() <= tables.allocators.size();
    for (auto const& [where, piece] : live_) {
      bool const has_path = piece.path == live_allocation::none || piece.path < tables.paths.size();
      is_right = is_right && piece.record.allocator < bytes_.size() && has_path;
    }
    check_read(is_right, "memory without allocator or path");
  }

 private:
  using scope_key = std::tuple<std::uint32_t, timestamp, std::uint32_t>;  ///< thread, beginning, path

  struct live_piece {
    allocation_record record;
    std::uint32_t path;
    bool is_in_scope;  ///< whether an open scope contains the allocation
    scope_key scope;   ///< the innermost of these scopes

    template <class Archive>
    friend void fields(Archive& archive, live_piece& value) {
      archive(value.record), archive(value.path), archive(value.is_in_scope), archive(value.scope);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, live_memory& value) {
    archive(value.bytes_), archive(value.live_);
  }

  static scope_key key_of(scope_record const& scope) { return {scope.thread, scope.time.begin, scope.path}; }

  void add(allocation_record const& record, profile const& profile, std::uint32_t innermost, std::uint32_t open) {
    live_piece made{record, innermost == no_scope ? live_allocation::none : profile.scopes[innermost].path, open != no_scope, {}};
    if (made.is_in_scope) made.scope = key_of(profile.scopes[open]);
    live_.insert_or_assign({record.allocator, record.address}, made);
  }

  template <class StillOpen>
  void leave_closed_scopes(profile const& profile, interval const& own, StillOpen const& still_open) {
    std::map<scope_key, std::uint32_t> closed;  // positions
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      interval const& time = profile.scopes[i].time;
      if (time.begin < own.begin && own.begin <= time.end && time.end < own.end) closed[key_of(profile.scopes[i])] = i;
    }
    if (closed.empty()) return;
    for (auto& [where, each] : live_) {
      if (!each.is_in_scope) continue;
      auto const known = closed.find(each.scope);
      if (known == closed.end()) continue;
      std::uint32_t const around = still_open(known->second);
      each.is_in_scope = around != no_scope;
      if (each.is_in_scope) each.scope = key_of(profile.scopes[around]);
    }
  }

  own_vector<std::uint64_t> bytes_;  ///< usage by allocator
  std::map<std::pair<std::uint16_t, std::uint64_t>, live_piece> live_;
};

}  // namespace profkit::detail
