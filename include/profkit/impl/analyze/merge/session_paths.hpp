// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../../profile/validate.hpp"

namespace profkit::detail {

/// The paths of a session.
class session_paths {
 public:
  /// @param paths the paths that a window knows: all of the session so far, or the first of them.
  void set(own_vector<path_record> const& paths) {
    if (paths_.size() < paths.size()) paths_ = paths;
  }

  struct ordered {
    own_vector<path_record> paths;
    own_vector<std::uint32_t> position_of;  ///< by position in the session: position in `paths`
  };

  /// @param first the beginning of the first scope of a path; `timestamp::max()` if there is none.
  /// @return the paths in the order of their first scopes; one without scopes follows its parent. Parents precede children, and adopted
  /// paths precede adopting ones, as in every window.
  template <class First>
  [[nodiscard]] ordered in_order(First const& first) const {
    own_vector<timestamp> begins(paths_.size(), timestamp::min());
    for (std::size_t path = 0; path < paths_.size(); ++path) {  // parents and adopted paths come before
      for (std::uint32_t const other : {paths_[path].parent, paths_[path].adopted_from}) {
        if (other != path_record::no_parent) begins[path] = std::max(begins[path], begins[other]);
      }
      if (first(path) != timestamp::max()) begins[path] = std::max(begins[path], first(path));
    }
    own_vector<std::uint32_t> order(paths_.size());
    std::iota(order.begin(), order.end(), 0U);
    own_stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return begins[a] < begins[b]; });
    ordered result{{}, own_vector<std::uint32_t>(paths_.size())};
    for (std::uint32_t i = 0; i < order.size(); ++i) result.position_of[order[i]] = i;
    for (std::uint32_t const path : order) {
      result.paths.push_back(paths_[path]);
      translate(result.paths.back(), result.position_of);
    }
    return result;
  }

  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

 private:
  template <class Archive>
  friend void fields(Archive& archive, session_paths& state) {
    archive(state.paths_);
    if constexpr (Archive::is_reader) check_paths(state.paths_);
  }

  static void translate(path_record& path, own_vector<std::uint32_t> const& positions) {
    if (path.parent != path_record::no_parent) path.parent = positions[path.parent];
    if (path.adopted_from != path_record::no_parent) path.adopted_from = positions[path.adopted_from];
  }

  own_vector<path_record> paths_;
};

}  // namespace profkit::detail
