// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"

namespace profkit::detail {

/// As reports show the name of a scope, without its index. `step` is the session's step alone: a scope that the program named so is shown
/// as `step (scope)`, so that no row and no path stands for both.
inline std::string name_without_index(path_record const& path) { return path.name == "step" && !path.is_step ? "step (scope)" : path.name; }

/// "layer_3" of the path "step/forward/layer_3".
inline std::string shown_name(path_record const& path) {
  return path.index ? path.name + "_" + std::to_string(*path.index) : name_without_index(path);
}

/// The paths of a profile, depth first: a path and all those inside it lie one after the other.
class path_tree {
 public:
  /// All paths with one shown name.
  struct name_group {
    std::string name;
    std::vector<std::uint32_t> paths;      ///< depth first
    std::vector<std::uint32_t> outermost;  ///< those of them that are not inside another of the name
  };

  explicit path_tree(std::vector<path_record> const& paths) : paths_{paths}, position_of_(paths.size()), end_of_(paths.size()) {
    std::vector<std::vector<std::uint32_t>> children(paths.size());
    std::vector<std::uint32_t> stack;
    for (auto path = static_cast<std::uint32_t>(paths.size()); path-- > 0;) {
      (has_parent(path) ? children[paths[path].parent] : stack).push_back(path);
    }
    std::stable_partition(stack.begin(), stack.end(), [&](std::uint32_t path) { return !paths[path].is_step; });
    order_.reserve(paths.size());
    while (!stack.empty()) {
      std::uint32_t const path = stack.back();
      stack.pop_back();
      position_of_[path] = order_.size();
      order_.push_back(path);
      stack.insert(stack.end(), children[path].begin(), children[path].end());
    }
    std::vector<std::size_t> sizes(paths.size(), 1);
    for (std::size_t path = paths.size(); path-- > 0;) {
      end_of_[path] = position_of_[path] + sizes[path];
      if (has_parent(path)) sizes[paths[path].parent] += sizes[path];
    }
    group_names();
  }

  [[nodiscard]] bool has_parent(std::size_t path) const { return paths_[path].parent != path_record::no_parent; }

  /// Parents before their children, children in the order of their first appearance; the session's step first.
  [[nodiscard]] std::vector<std::uint32_t> const& depth_first() const noexcept { return order_; }

  /// The position of the path in `depth_first`.
  [[nodiscard]] std::size_t position_of(std::size_t path) const { return position_of_[path]; }

  /// The end of the paths inside it in `depth_first`.
  [[nodiscard]] std::size_t end_of(std::size_t path) const { return end_of_[path]; }

  /// In the order of their first paths in `depth_first`.
  [[nodiscard]] std::vector<name_group> const& names() const noexcept { return names_; }

 private:
  void group_names() {
    std::unordered_map<std::string, std::size_t> known;
    std::vector<std::size_t> ends;  // by name: where the last outermost path ends
    for (std::uint32_t const path : order_) {
      std::string name = shown_name(paths_[path]);
      std::size_t const group = known.try_emplace(name, names_.size()).first->second;
      if (group == names_.size()) {
        names_.push_back({std::move(name), {}, {}});
        ends.push_back(0);
      }
      names_[group].paths.push_back(path);
      if (position_of_[path] < ends[group]) continue;
      names_[group].outermost.push_back(path);
      ends[group] = end_of_[path];
    }
  }

  std::vector<path_record> const& paths_;
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> position_of_;
  std::vector<std::size_t> end_of_;
  std::vector<name_group> names_;
};

}  // namespace profkit::detail
