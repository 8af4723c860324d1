// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_containers.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace profkit::detail {

/// Computes the length of a union of intervals. Intervals are added in the order of their beginnings.
class union_length {
 public:
  /// @return whether the union grew.
  bool add(interval const& time) {
    if (time.end <= covered_until_) return false;
    length_ += time.end - std::max(time.begin, covered_until_);
    covered_until_ = time.end;
    return true;
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return length_; }

 private:
  timestamp covered_until_ = timestamp::min();
  std::chrono::nanoseconds length_{};
};

/// The part of the union of all operations that a window adds: the union of its own operations without what operations of earlier windows
/// cover. Operations are added in the order of their beginnings.
class added_union {
 public:
  /// @param is_earlier the operation belongs to an earlier window.
  /// @return whether the union of all operations grew.
  bool add(interval const& time, bool is_earlier) {
    if (is_earlier) earlier_.add(time);
    return all_.add(time);
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return all_.length() - earlier_.length(); }

 private:
  union_length all_;
  union_length earlier_;
};

/// The span (first start to last end) of the operations launched in each scope. It includes work on other threads in scopes that adopted
/// this one. Each launch of a CUDA graph counts as one scope, for the scopes in which its nodes were captured. Each launch outside the
/// scopes of a thread also counts as one scope.
class operation_spans {
 public:
  operation_spans(profile const& profile, attribution const& launched)
      : profile_{profile}, launched_{launched}, of_scope_(profile.scopes.size()) {
    parents_.reserve(profile.paths.size());
    for (path_record const& path : profile.paths) parents_.push_back(path.parent);
    find_scopes_of_others();
  }

  void add(timed_operation const& operation) {
    interval const& time = operation.time;
    std::uint32_t path = operation.path;
    // A span contains the spans inside it: if one does not grow, the outer ones do not grow either.
    if (operation.scope != attribution::none) {
      if (is_of_other_.empty() || !is_of_other_[operation.scope]) {
        of_scope_[operation.scope].add(time);  // `complete` extends the outer scopes
        return;
      }
      std::uint32_t outermost = operation.scope;
      for (std::uint32_t scope = outermost; scope != attribution::none; scope = launched_.parent_of[scope]) {
        if (!of_scope_[scope].add(time)) return;
        outermost = scope;
      }
      path = parents_[profile_.scopes[outermost].path];
    }
    std::uint32_t const launched_in = launched_.scope_of[operation.record];
    for (; path != path_record::no_parent; path = parents_[path]) {
      if (!span_of(operation.record, launched_in, path).add(time)) return;
    }
  }

  /// To be called after all operations are added.
  void complete() {
    for (std::uint32_t scope = 0; scope < of_scope_.size(); ++scope) {
      if (of_scope_[scope].is_empty()) continue;
      interval const span{of_scope_[scope].begin, of_scope_[scope].end};
      for (std::uint32_t outer = launched_.parent_of[scope]; outer != attribution::none; outer = launched_.parent_of[outer]) {
        if (!of_scope_[outer].add(span) || outer > scope) break;  // later scopes extend their own outer scopes
      }
    }
  }

  /// @param visit called with a path, a span and the position of its scope; `attribution::none` for a launch.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = 0; i < of_scope_.size(); ++i) {
      if (!of_scope_[i].is_empty()) visit(profile_.scopes[i].path, of_scope_[i], static_cast<std::uint32_t>(i));
    }
    for (auto const& [key, span] : of_launch_) visit(static_cast<std::uint32_t>(key >> 32U), span, attribution::none);
  }

 private:
  /// Finds the outermost scopes of threads whose parent scope is on another thread.
  void find_scopes_of_others() {
    auto const count = static_cast<std::uint32_t>(profile_.scopes.size());
    auto const begins_elsewhere = [&](std::uint32_t scope) {
      return launched_.parent_of[scope] == attribution::none && parents_[profile_.scopes[scope].path] != path_record::no_parent;
    };
    std::uint32_t any = 0;
    while (any < count && !begins_elsewhere(any)) ++any;
    if (any == count) return;
    is_of_other_.resize(count);
    for (std::uint32_t scope = count; scope-- > 0;) {
      std::uint32_t outer = launched_.parent_of[scope];
      if (outer != attribution::none && outer > scope) {  // usual: inner scopes end first
        is_of_other_[scope] = is_of_other_[outer];
        continue;
      }
      std::uint32_t outermost = scope;
      for (; outer != attribution::none; outer = launched_.parent_of[outer]) outermost = outer;
      is_of_other_[scope] = begins_elsewhere(outermost);
    }
  }

  operation_span& span_of(std::uint32_t operation, std::uint32_t launched_in, std::uint32_t path) {
    std::uint32_t scope = around_launch(launched_in, path);
    if (scope == attribution::none) scope = open_at(launch_moment(profile_, launched_, operation), path);
    return scope != attribution::none ? of_scope_[scope] : of_launch_[std::uint64_t{path} << 32U | launched_.launch_of[operation]];
  }

  /// The scope with this path that was open on the launching thread, such as the step in which a graph was launched.
  [[nodiscard]] std::uint32_t around_launch(std::uint32_t scope, std::uint32_t path) const {
    while (scope != attribution::none && profile_.scopes[scope].path != path) scope = launched_.parent_of[scope];
    return scope;
  }

  /// The scope with this path that was open on any thread, such as the scope that waits for this work.
  [[nodiscard]] std::uint32_t open_at(timestamp moment, std::uint32_t path) {
    if (by_path_.empty()) sort_scopes();
    own_vector<std::uint32_t> const& scopes = by_path_[path];
    auto const after = std::upper_bound(scopes.begin(), scopes.end(), moment,
                                        [&](timestamp at, std::uint32_t scope) { return at < profile_.scopes[scope].time.begin; });
    bool const is_open = after != scopes.begin() && moment <= profile_.scopes[*std::prev(after)].time.end;
    return is_open ? *std::prev(after) : attribution::none;
  }

  void sort_scopes() {
    by_path_.resize(profile_.paths.size());
    for (std::uint32_t i = 0; i < profile_.scopes.size(); ++i) by_path_[profile_.scopes[i].path].push_back(i);
    for (own_vector<std::uint32_t>& scopes : by_path_) {
      std::sort(scopes.begin(), scopes.end(),
                [&](std::uint32_t a, std::uint32_t b) { return profile_.scopes[a].time.begin < profile_.scopes[b].time.begin; });
    }
  }

  profile const& profile_;
  attribution const& launched_;
  own_vector<std::uint32_t> parents_;  ///< by path
  own_vector<bool> is_of_other_;       ///< by scope: its parent is on another thread; empty if there is none
  own_vector<operation_span> of_scope_;
  own_hash_map<std::uint64_t, operation_span> of_launch_;  ///< by path and launch
  own_vector<own_vector<std::uint32_t>> by_path_;          ///< by path: scopes in order of their beginnings; filled on demand
};

}  // namespace profkit::detail
