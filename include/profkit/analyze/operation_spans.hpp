// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace profkit::detail {

/// From the first start to the last end of what was launched in each scope. A scope holds what is done for it on other threads, in scopes
/// that lie in it. Of what a CUDA graph ran, in the scopes in which it was captured, each launch of the graph is as good as a scope there;
/// and so is each launch of a thread outside scopes.
class operation_spans {
 public:
  operation_spans(profile const& of, attribution const& launched) : of_{of}, launched_{launched}, of_scope_(of.scopes.size()) {}

  void add(std::uint32_t operation) {
    interval const& time = of_.gpu_operations[operation].time;
    std::uint32_t path = launched_.path_of[operation];
    std::uint32_t scope = launched_.scope_of[operation];
    // A span holds those of the scopes inside: where one does not grow, those around it do not, either.
    if (scope != attribution::none && of_.scopes[scope].path == path) {
      for (; scope != attribution::none; scope = launched_.parent_of[scope]) {
        if (!of_scope_[scope].add(time)) return;
        path = of_.paths[of_.scopes[scope].path].parent;
      }
      scope = launched_.scope_of[operation];
    }
    for (; path != path_record::no_parent; path = of_.paths[path].parent) {
      if (!span_of(operation, scope, path).add(time)) return;
    }
  }

  /// @param visit takes a path and a span.
  template <class Visit>
  void for_each(Visit const& visit) const {
    for (std::size_t i = 0; i < of_scope_.size(); ++i) {
      if (!of_scope_[i].is_empty()) visit(of_.scopes[i].path, of_scope_[i]);
    }
    for (auto const& [key, span] : of_launch_) visit(static_cast<std::uint32_t>(key >> 32U), span);
  }

 private:
  operation_span& span_of(std::uint32_t operation, std::uint32_t launched_in, std::uint32_t path) {
    std::uint32_t scope = around_launch(launched_in, path);
    if (scope == attribution::none) scope = open_at(launch_moment(of_, launched_, operation), path);
    return scope != attribution::none ? of_scope_[scope] : of_launch_[std::uint64_t{path} << 32U | launched_.launch_of[operation]];
  }

  /// The scope with the path that was open on the launching thread, such as the step in which a graph was launched.
  [[nodiscard]] std::uint32_t around_launch(std::uint32_t scope, std::uint32_t path) const {
    while (scope != attribution::none && of_.scopes[scope].path != path) scope = launched_.parent_of[scope];
    return scope;
  }

  /// The scope with the path that was open on any thread, such as the one that waits for this work.
  [[nodiscard]] std::uint32_t open_at(timestamp moment, std::uint32_t path) {
    if (by_path_.empty()) sort_scopes();
    std::vector<std::uint32_t> const& scopes = by_path_[path];
    auto const after = std::upper_bound(scopes.begin(), scopes.end(), moment,
                                        [&](timestamp at, std::uint32_t scope) { return at < of_.scopes[scope].time.begin; });
    bool const is_open = after != scopes.begin() && moment <= of_.scopes[*std::prev(after)].time.end;
    return is_open ? *std::prev(after) : attribution::none;
  }

  void sort_scopes() {
    by_path_.resize(of_.paths.size());
    for (std::uint32_t i = 0; i < of_.scopes.size(); ++i) by_path_[of_.scopes[i].path].push_back(i);
    for (std::vector<std::uint32_t>& scopes : by_path_) {
      std::sort(scopes.begin(), scopes.end(),
                [&](std::uint32_t a, std::uint32_t b) { return of_.scopes[a].time.begin < of_.scopes[b].time.begin; });
    }
  }

  profile const& of_;
  attribution const& launched_;
  std::vector<operation_span> of_scope_;
  std::unordered_map<std::uint64_t, operation_span> of_launch_;  ///< by path and launch
  std::vector<std::vector<std::uint32_t>> by_path_;              ///< scopes by their beginnings; once they are needed
};

}  // namespace profkit::detail
