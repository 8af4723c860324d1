// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "../../../profile.hpp"
#include "../../profile/own_containers.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The parent of each path.
inline own_vector<std::uint32_t> parents_of(own_vector<path_record> const& paths) {
  own_vector<std::uint32_t> result;
  result.reserve(paths.size());
  for (path_record const& path : paths) result.push_back(path.parent);
  return result;
}

/// The name of a scope in reports, without its index. `step` is reserved for the session's step: a scope with that name is shown as `step
/// (scope)`, so that no two rows have the same path.
inline std::string name_without_index(path_record const& path) { return path.name == "step" && !path.is_step ? "step (scope)" : path.name; }

/// The last name of a path with its index: "layer_3" for "step/forward/layer_3".
inline std::string shown_name(path_record const& path) {
  return path.index ? path.name + "_" + std::to_string(*path.index) : name_without_index(path);
}

/// The name without index and parents: "layer" for `layer_3`, "attention (backward)" for `forward/layer_3/attention (backward)`. Iterations
/// of a loop share it.
inline std::string name_without_place(own_vector<path_record> const& paths, std::uint32_t path) {
  own_vector<std::string const*> roles;
  for (; paths[path].adopted_from != path_record::no_parent; path = paths[path].adopted_from) roles.push_back(&paths[path].role);
  std::string name = name_without_index(paths[path]);
  for (auto role = roles.rbegin(); role != roles.rend(); ++role) name.append(" (").append(**role).append(")");
  return name;
}

/// The names from the root, such as "step/forward/layer_3".
inline std::string path_text(own_vector<path_record> const& paths, std::uint32_t path) {
  own_vector<std::string> names;  // innermost first
  for (; path != path_record::no_parent; path = paths[path].parent) names.push_back(shown_name(paths[path]));
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) text.append(name == names.rbegin() ? "" : "/").append(*name);
  return text;
}

/// @param first the beginning of the first scope of a path; `timestamp::max()` if there is none.
/// @return all paths in the order of their first scopes; one without scopes follows its parent. Parents precede children, and adopted paths
/// precede adopting ones.
template <class First>
own_vector<std::uint32_t> in_order_of_scopes(own_vector<path_record> const& paths, First const& first) {
  own_vector<timestamp> begins(paths.size(), timestamp::min());
  for (std::size_t path = 0; path < paths.size(); ++path) {  // parents and adopted paths come before
    for (std::uint32_t const other : {paths[path].parent, paths[path].adopted_from}) {
      if (other != path_record::no_parent) begins[path] = std::max(begins[path], begins[other]);
    }
    if (first(path) != timestamp::max()) begins[path] = std::max(begins[path], first(path));
  }
  own_vector<std::uint32_t> order(paths.size());
  std::iota(order.begin(), order.end(), 0U);
  own_stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return begins[a] < begins[b]; });
  return order;
}

/// The paths of a profile in depth-first order: a path is followed by all paths inside it.
class path_tree {
 public:
  /// All paths with one name in reports.
  struct name_group {
    std::string name;
    own_vector<std::uint32_t> paths;      ///< depth first
    own_vector<std::uint32_t> outermost;  ///< those that are not inside another path of this name
  };

  explicit path_tree(own_vector<path_record>&&) = delete;  // borrowed, so no converted temporary
  explicit path_tree(own_vector<path_record> const& paths) : path_tree{paths, all_of(paths)} {}

  path_tree(own_vector<path_record>&&, own_vector<std::uint32_t>) = delete;
  /// @param in_order all paths in the order in which they are listed; parents precede children.
  path_tree(own_vector<path_record> const& paths, own_vector<std::uint32_t> in_order)
      : paths_{paths}, in_order_{std::move(in_order)}, position_of_(paths.size()) {
    own_vector<own_vector<std::uint32_t>> children(paths.size());
    own_vector<std::uint32_t> stack;
    for (auto path = in_order_.rbegin(); path != in_order_.rend(); ++path) {
      (has_parent(*path) ? children[paths[*path].parent] : stack).push_back(*path);
    }
    own_stable_partition(stack.begin(), stack.end(), [&](std::uint32_t path) { return !paths[path].is_step; });
    order_.reserve(paths.size());
    while (!stack.empty()) {
      std::uint32_t const path = stack.back();
      stack.pop_back();
      position_of_[path] = order_.size();
      order_.push_back(path);
      stack.insert(stack.end(), children[path].begin(), children[path].end());
    }
    own_vector<std::size_t> sizes(paths.size(), 1);
    for (std::size_t path = paths.size(); path-- > 0;) {
      if (has_parent(path)) sizes[paths[path].parent] += sizes[path];
    }
    group_names(sizes);
  }

  /// Gives rows in a summary to some paths and to all paths around them. Names without a row are removed.
  template <class IsWanted>
  void choose_rows(IsWanted const& is_wanted) {
    row_of_.assign(paths_.size(), no_row);
    for (std::size_t path = paths_.size(); path-- > 0;) {
      if (row_of_[path] == no_row && !is_wanted(path)) continue;
      row_of_[path] = 0;
      if (has_parent(path)) row_of_[paths_[path].parent] = 0;
    }
    for (std::uint32_t const path : order_) {
      if (row_of_[path] == no_row) continue;
      row_of_[path] = rows_.size();
      rows_.push_back(path);
    }
    auto const has_no_row = [this](name_group const& name) {
      return std::all_of(name.paths.begin(), name.paths.end(), [this](std::uint32_t path) { return row_of_[path] == no_row; });
    };
    names_.erase(std::remove_if(names_.begin(), names_.end(), has_no_row), names_.end());
  }

  static constexpr std::size_t no_row = static_cast<std::size_t>(-1);

  /// @return the path of each row, depth first.
  [[nodiscard]] own_vector<std::uint32_t> const& rows() const noexcept { return rows_; }

  /// @return the row of a path, or `no_row`.
  [[nodiscard]] std::size_t row_of(std::size_t path) const { return row_of_[path]; }

  [[nodiscard]] own_vector<path_record> const& paths() const noexcept { return paths_; }

  [[nodiscard]] bool has_parent(std::size_t path) const { return paths_[path].parent != path_record::no_parent; }

  /// @return all paths in the order in which they are listed: parents precede children.
  [[nodiscard]] own_vector<std::uint32_t> const& in_order() const noexcept { return in_order_; }

  /// @return the position of a path in depth-first order: parents precede children, children are in the order of `in_order`; the session's
  /// step comes first.
  [[nodiscard]] std::size_t position_of(std::size_t path) const { return position_of_[path]; }

  /// @return the names in the order of their first paths, depth first.
  [[nodiscard]] own_vector<name_group> const& names() const noexcept { return names_; }

 private:
  static own_vector<std::uint32_t> all_of(own_vector<path_record> const& paths) {
    own_vector<std::uint32_t> result(paths.size());
    std::iota(result.begin(), result.end(), 0U);
    return result;
  }

  /// @param sizes by path: the number of paths in it, with itself.
  void group_names(own_vector<std::size_t> const& sizes) {
    own_hash_map<std::string, std::size_t> known;
    own_vector<std::size_t> ends;  // by name: the end of the last outermost path
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
      ends[group] = position_of_[path] + sizes[path];
    }
  }

  own_vector<path_record> const& paths_;
  own_vector<std::uint32_t> in_order_;
  own_vector<std::uint32_t> order_;
  own_vector<std::size_t> position_of_;
  own_vector<name_group> names_;
  own_vector<std::uint32_t> rows_;
  own_vector<std::size_t> row_of_;  ///< by path
};

}  // namespace PROFKIT_NAMESPACE::detail
