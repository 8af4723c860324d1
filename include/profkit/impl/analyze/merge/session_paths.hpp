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

  [[nodiscard]] own_vector<path_record> const& operator()() const noexcept { return paths_; }

  /// @param first the beginning of the first scope of a path; `timestamp::max()` if there is none.
  /// @return all paths in the order of their first scopes; one without scopes follows its parent. Parents precede children, and adopted
  /// paths precede adopting ones.
  template <class First>
  [[nodiscard]] own_vector<std::uint32_t> in_order(First const& first) const {
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
    return order;
  }

  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

 private:
  template <class Archive>
  friend void fields(Archive& archive, session_paths& state) {
    archive(state.paths_);
    if constexpr (Archive::is_reader) check_paths(state.paths_);
  }

  own_vector<path_record> paths_;
};

}  // namespace profkit::detail
