// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../profile/profile_builder.hpp"
#include "../record/scope_node.hpp"

namespace profkit::detail {

/// The path of a step. It differs from the path of a scope that the program names `step`.
[[nodiscard]] inline path_record path_of_step(site const& where) {
  path_record path{path_record::no_parent, where.name, std::nullopt, where.file, where.line};
  path.is_step = true;
  return path;
}

/// Finds the paths of scope nodes, to which scope tokens and adopting scopes refer. There are at most `scope_node_table::size` nodes, so
/// they always have a path.
class scope_node_paths {
 public:
  /// @return position in `profile::paths`.
  std::uint32_t path_of(scope_node const& node, profile_builder& into) {
    auto const known = paths_.find(&node);
    if (known != paths_.end()) return known->second;
    std::uint32_t const parent = node.parent == nullptr ? path_record::no_parent : path_of(*node.parent, into);
    return paths_[&node] = into.position_of(record_of(node, parent, into));
  }

 private:
  path_record record_of(scope_node const& node, std::uint32_t parent, profile_builder& into) {
    site const& where = node.where();
    switch (node.kind()) {
      case event_kind::enter_step:
        return path_of_step(where);
      case event_kind::enter_adopted: {
        std::uint32_t const from = path_of(node.adopted_from(), into);
        std::string name = path_in_step(from, node.adopted_from(), into.so_far()) + " (" + where.name + ")";
        return {parent, std::move(name), std::nullopt, where.file, where.line, from, where.name};
      }
      case event_kind::enter_indexed:
        return {parent, where.name, node.index(), where.file, where.line};
      default:
        return {parent, where.name, std::nullopt, where.file, where.line};
    }
  }

  /// "forward/layer_3" for the path "step/forward/layer_3".
  static std::string path_in_step(std::uint32_t path, scope_node const& node, profile const& in) {
    path_record const& record = in.paths[path];
    std::string name = record.index ? record.name + "_" + std::to_string(*record.index) : record.name;
    if (node.parent == nullptr || node.parent->kind() == event_kind::enter_step) return name;
    return path_in_step(record.parent, *node.parent, in) + "/" + name;
  }

  own_hash_map<scope_node const*, std::uint32_t> paths_;
};

}  // namespace profkit::detail
