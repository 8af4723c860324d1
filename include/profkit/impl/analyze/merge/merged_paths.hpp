// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"
#include "../../profile/path_table.hpp"
#include "../../profile/validate.hpp"

namespace profkit::detail {

/// The paths of several windows. Paths are equal if all members except the source location are equal. Each path keeps its smallest position
/// in any window, and `in_order` sorts by time and that position.
class merged_paths {
 public:
  /// @return by position in the list: its position here.
  own_vector<std::uint32_t> add(own_vector<path_record> const& paths) {
    own_vector<std::uint32_t> positions;
    positions.reserve(paths.size());
    for (std::uint32_t i = 0; i < paths.size(); ++i) positions.push_back(add(paths[i], i, positions));
    return positions;
  }

  struct ordered {
    own_vector<path_record> paths;
    own_vector<std::uint32_t> position_of;  ///< by position in the merged paths: position in `paths`
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
    auto const key = [&](std::uint32_t path) { return std::tie(begins[path], first_[path], paths_[path].name, paths_[path].index); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
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
  /// The lookup table is not stored; reading rebuilds it.
  template <class Archive>
  friend void fields(Archive& archive, merged_paths& state) {
    archive(state.paths_), archive(state.first_);
    if constexpr (Archive::is_reader) {
      archive.check(state.paths_.size() == state.first_.size() && state.is_in_order(), "a path comes before its parent");
      check_path_lengths(state.paths_);
      check_step_path(state.paths_);
      state.table_ = {};
      own_vector<path_record> known;
      for (path_record const& each : state.paths_) state.table_.find_or_add(each, known);
      archive.check(known.size() == state.paths_.size(), "a path occurs twice");
    }
  }

  /// Whether each path follows its parent and the path that it adopted, here and in the windows.
  [[nodiscard]] bool is_in_order() const {
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      for (std::uint32_t const other : {paths_[i].parent, paths_[i].adopted_from}) {
        if (other != path_record::no_parent && (other >= i || first_[other] >= first_[i])) return false;
      }
    }
    return true;
  }

  static void translate(path_record& path, own_vector<std::uint32_t> const& positions) {
    if (path.parent != path_record::no_parent) path.parent = positions[path.parent];
    if (path.adopted_from != path_record::no_parent) path.adopted_from = positions[path.adopted_from];
  }

  /// @param positions positions of the paths before it.
  std::uint32_t add(path_record path, std::uint32_t position, own_vector<std::uint32_t> const& positions) {
    translate(path, positions);
    std::uint32_t const known = table_.find_or_add(path, paths_);
    if (known == first_.size()) {
      first_.push_back(position);
      return known;
    }
    auto const place = [](path_record const& each) { return std::tie(each.file, each.line); };
    // Keep the first source location; among sessions, choose independently of the order of merging.
    bool const is_earlier = position < first_[known] || (position == first_[known] && place(path) < place(paths_[known]));
    if (!is_earlier) return known;
    first_[known] = position;
    paths_[known].file = path.file;
    paths_[known].line = path.line;
    return known;
  }

  path_table table_;
  own_vector<path_record> paths_;
  own_vector<std::uint32_t> first_;  ///< by path: its smallest position in a window
};

}  // namespace profkit::detail
