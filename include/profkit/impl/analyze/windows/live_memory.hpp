// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/validate.hpp"
#include "../gpu/attribution.hpp"
#include "../memory/scope_memory.hpp"
#include "state.hpp"

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
    own_vector<block> changed;
    for (allocation_record const& each : profile.allocations) {
      if (own.begin <= each.time && each.time < own.end) changed.emplace_back(each.allocator, each.address);
    }
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (block const& each : changed) {
      auto const at = live_.find(each);
      if (at == live_.end()) continue;
      live_piece const& piece = at->second;
      auto const scope = piece.is_in_scope ? open.find(piece.scope) : open.end();
      result.live.push_back(
          {piece.record, piece.path, scope == open.end() ? live_allocation::none : scope->second, piece.is_in_measured_step});
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
    measured_time const measured = with_readings_at_ends(measured_time::of_window(profile, all_time, true));
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
          remove({record.allocator, record.address});
        } else {
          add(record, profile, scope_of[change.origin], still_open(scope_of[change.origin]), measured.contains(record.time));
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
  using block = std::pair<std::uint16_t, std::uint64_t>;                  ///< allocator, address

  struct live_piece {
    allocation_record record;
    std::uint32_t path;
    bool is_in_scope;  ///< whether an open scope contains the allocation
    scope_key scope;   ///< the innermost of these scopes
    bool is_in_measured_step;

    auto members() { return listed(record, path, is_in_scope, scope, is_in_measured_step); }
  };

  template <class Archive>
  friend void fields(Archive& archive, live_memory& value) {
    archive(value.bytes_), archive(value.live_);
    if constexpr (Archive::is_reader) {
      value.in_scope_.clear();
      for (auto const& [where, piece] : value.live_) {
        if (piece.is_in_scope) value.in_scope_[piece.scope].insert(where);
      }
    }
  }

  static scope_key key_of(scope_record const& scope) { return {scope.thread, scope.time.begin, scope.path}; }

  void add(allocation_record const& record, profile const& profile, std::uint32_t innermost, std::uint32_t open, bool is_in_measured_step) {
    std::uint32_t const path = innermost == no_scope ? live_allocation::none : profile.scopes[innermost].path;
    live_piece made{record, path, open != no_scope, {}, is_in_measured_step};
    if (made.is_in_scope) made.scope = key_of(profile.scopes[open]);
    block const where{record.allocator, record.address};
    remove(where);
    live_.emplace(where, made);
    if (made.is_in_scope) in_scope_[made.scope].insert(where);
  }

  void remove(block const& where) {
    auto const at = live_.find(where);
    if (at == live_.end()) return;
    if (at->second.is_in_scope) {
      auto const scope = in_scope_.find(at->second.scope);
      if (scope != in_scope_.end()) scope->second.erase(where);  // none if there was no memory for it
      if (scope != in_scope_.end() && scope->second.empty()) in_scope_.erase(scope);
    }
    live_.erase(at);
  }

  template <class StillOpen>
  void leave_closed_scopes(profile const& profile, interval const& own, StillOpen const& still_open) {
    std::map<scope_key, std::uint32_t> closed;  // positions
    for (std::uint32_t i = 0; i < profile.scopes.size(); ++i) {
      interval const& time = profile.scopes[i].time;
      if (time.begin < own.begin && own.begin <= time.end && time.end < own.end) closed[key_of(profile.scopes[i])] = i;
    }
    for (auto const& [scope, position] : closed) {
      auto const left = in_scope_.find(scope);
      if (left == in_scope_.end()) continue;
      std::set<block> const blocks = std::move(left->second);
      in_scope_.erase(left);
      std::uint32_t const around = still_open(position);
      for (block const& where : blocks) {
        live_piece& piece = live_.find(where)->second;
        piece.is_in_scope = around != no_scope;
        if (piece.is_in_scope) piece.scope = key_of(profile.scopes[around]);
      }
      if (around == no_scope) continue;
      std::set<block>& to = in_scope_[key_of(profile.scopes[around])];
      to.insert(blocks.begin(), blocks.end());
    }
  }

  own_vector<std::uint64_t> bytes_;  ///< usage by allocator
  std::map<block, live_piece> live_;
  std::map<scope_key, std::set<block>> in_scope_;  ///< the live blocks by `live_piece::scope`
};

}  // namespace profkit::detail
