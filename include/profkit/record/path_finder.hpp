// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "../profile/profile.hpp"
#include "scope_node.hpp"

namespace profkit::detail {

/// Finds the paths of scopes in the tree of a profile, and adds those that it does not have. For one profile.
class path_finder {
 public:
  /// @param parent position of the path around it, or `path_record::no_parent`.
  std::uint32_t path_of(std::uint32_t parent, site const* where, std::optional<std::int64_t> index, profile& into) {
    path_key const key{parent, where, index};
    recent_path& recent = recent_[path_hash{}(key) % recent_.size()];
    if (recent.key == key) return recent.path;
    std::uint32_t const path = look_up(key, into);
    recent = {key, path};
    return path;
  }

  /// The position of a node's path in the profile, which gets it if need be.
  std::uint32_t path_of(scope_node const& node, profile& into) {
    auto const known = paths_of_nodes_.find(&node);
    if (known != paths_of_nodes_.end()) return known->second;
    std::uint32_t const parent = node.parent == nullptr ? path_record::no_parent : path_of(*node.parent, into);
    std::uint32_t path = 0;
    if (node.kind() == event_kind::enter_adopted) {
      path = path_of_adopted(parent, node, path_of(node.adopted_from(), into), into);
    } else {
      std::optional<std::int64_t> const index = node.kind() == event_kind::enter_indexed ? std::optional{node.index()} : std::nullopt;
      path = path_of(parent, &node.where(), index, into);
    }
    return paths_of_nodes_[&node] = path;
  }

 private:
  struct path_key {
    std::uint32_t parent = path_record::no_parent;
    site const* where = nullptr;
    std::optional<std::int64_t> index = std::nullopt;
    bool operator==(path_key const& other) const noexcept { return parent == other.parent && where == other.where && index == other.index; }
  };

  struct path_hash {
    std::size_t operator()(path_key const& key) const noexcept {
      std::size_t hash = reinterpret_cast<std::uintptr_t>(key.where) / alignof(site);
      hash = hash * 0x9e3779b97f4a7c15U + key.parent;
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(key.index.value_or(-1));
      return hash ^ hash >> 32U;
    }
  };

  struct recent_path {
    path_key key;
    std::uint32_t path = 0;
  };

  std::uint32_t look_up(path_key const& key, profile& into) {
    auto const known = paths_.find(key);
    if (known != paths_.end()) return known->second;
    std::uint32_t path = 0;
    while (path < into.paths.size() && !is_same(into.paths[path], key.parent, key.where->name, key.index)) ++path;
    if (path == into.paths.size()) into.paths.push_back({key.parent, key.where->name, key.index, key.where->file, key.where->line});
    return paths_[key] = path;
  }

  static std::uint32_t path_of_adopted(std::uint32_t parent, scope_node const& node, std::uint32_t from, profile& into) {
    site const& role = node.where();
    std::uint32_t path = 0;
    auto const is_it = [&](path_record const& each) {
      return each.parent == parent && each.adopted_from == from && each.role == role.name;
    };
    while (path < into.paths.size() && !is_it(into.paths[path])) ++path;
    if (path < into.paths.size()) return path;
    into.paths.push_back({parent, path_in_step(from, node.adopted_from(), into) + " (" + role.name + ")", std::nullopt, role.file,
                          role.line, from, role.name});
    return path;
  }

  /// "forward/layer_3" of the path "step/forward/layer_3".
  static std::string path_in_step(std::uint32_t path, scope_node const& node, profile const& in) {
    path_record const& record = in.paths[path];
    std::string name = record.index ? record.name + "_" + std::to_string(*record.index) : record.name;
    if (node.parent == nullptr || node.parent->kind() == event_kind::enter_step) return name;
    return path_in_step(record.parent, *node.parent, in) + "/" + name;
  }

  static bool is_same(path_record const& path, std::uint32_t parent, char const* name, std::optional<std::int64_t> index) {
    return path.parent == parent && path.index == index && path.adopted_from == path_record::no_parent && path.name == name;
  }

  std::array<recent_path, 256> recent_;
  std::unordered_map<path_key, std::uint32_t, path_hash> paths_;
  std::unordered_map<scope_node const*, std::uint32_t> paths_of_nodes_;
};

}  // namespace profkit::detail
