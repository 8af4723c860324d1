// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../../profile_builder.hpp"
#include "../profile/own_containers.hpp"
#include "../record/scope_node.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
    // A node comes after its parent and after the node that it adopts.
    own_vector<scope_node const*> missing{&node};
    while (!missing.empty()) {
      scope_node const& next = *missing.back();
      if (scope_node const* const before = missing_before(next)) {
        missing.push_back(before);
        continue;
      }
      missing.pop_back();
      paths_[&next] = into.position_of(record_of(next, into));
    }
    return paths_.at(&node);
  }

 private:
  /// A node without a path to which the path of this node refers; null if there is none.
  [[nodiscard]] scope_node const* missing_before(scope_node const& node) const {
    if (node.parent != nullptr && paths_.count(node.parent) == 0) return node.parent;
    if (node.kind() == event_kind::enter_adopted && paths_.count(&node.adopted_from()) == 0) return &node.adopted_from();
    return nullptr;
  }

  /// @param node its parent and the node that it adopts have paths.
  [[nodiscard]] path_record record_of(scope_node const& node, profile_builder const& into) const {
    site const& where = node.where();
    std::uint32_t const parent = node.parent == nullptr ? path_record::no_parent : paths_.at(node.parent);
    switch (node.kind()) {
      case event_kind::enter_step:
        return path_of_step(where);
      case event_kind::enter_adopted: {
        std::uint32_t const from = paths_.at(&node.adopted_from());
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
    own_vector<std::string> names;  // innermost first
    for (scope_node const* at = &node; at != nullptr && (at == &node || at->kind() != event_kind::enter_step); at = at->parent) {
      path_record const& record = in.paths[path];
      names.push_back(record.index ? record.name + "_" + std::to_string(*record.index) : record.name);
      path = record.parent;
    }
    std::string text = std::move(names.back());
    for (std::size_t i = names.size() - 1; i-- > 0;) text.append("/").append(names[i]);
    return text;
  }

  own_hash_map<scope_node const*, std::uint32_t> paths_;
};

}  // namespace PROFKIT_NAMESPACE::detail
