// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../profile/profile.hpp"
#include "scope_node.hpp"

namespace profkit::detail {

/// Finds the paths of scopes in the tree of a profile, and adds those that it does not have. For one profile, which others add to, too.
///
/// An index that grows for ever, or deep recursion, would make paths without end, each a row of every report. So the number of paths is
/// bounded, and what all that are long take as text; scopes outside all others, and those of nodes, of which there are not many, always
/// have a path.
class path_finder {
 public:
  static constexpr std::size_t most_paths = 65'536;  ///< until scopes with a new index have none; twice as many until any have none
  static constexpr std::uint64_t long_path = 1024;   ///< bytes
  static constexpr std::uint64_t most_long_text = std::uint64_t{16} << 20U;  ///< bytes of all long paths

  /// @param parent position of the path around it, or `path_record::no_parent`.
  /// @return Past the bound, counted in the profile: of a scope with an index the path without, or `path_record::no_parent`: it has none.
  std::uint32_t path_of(std::uint32_t parent, site const* where, std::optional<std::int64_t> index, profile& into) {
    path_key const key = key_of(parent, where, index);
    recent_path& recent = recent_[path_hash{}(key) % recent_.size()];
    if (recent.key == key) return recent.path;
    std::uint32_t path = look_up(key, true, into);
    if (path != path_record::no_parent) {
      recent = {key, path};
      return path;
    }
    ++into.quality.rowless_scopes;
    return index ? look_up(key_of(parent, where, std::nullopt), true, into) : path_record::no_parent;
  }

  /// The path of the session's steps. A scope that the program named `step`, too, has another.
  std::uint32_t path_of_step(site const* where, profile& into) {
    path_key key = key_of(path_record::no_parent, where, std::nullopt);
    key.is_step = true;
    return look_up(key, false, into);
  }

  /// The position of a node's path in the profile, which gets it if need be.
  std::uint32_t path_of(scope_node const& node, profile& into) {
    auto const known = paths_of_nodes_.find(&node);
    if (known != paths_of_nodes_.end()) return known->second;
    std::uint32_t const parent = node.parent == nullptr ? path_record::no_parent : path_of(*node.parent, into);
    std::uint32_t path = 0;
    if (node.kind() == event_kind::enter_adopted) {
      path = path_of_adopted(parent, node, path_of(node.adopted_from(), into), into);
    } else if (node.kind() == event_kind::enter_step) {
      path = path_of_step(&node.where(), into);
    } else {
      std::optional<std::int64_t> const index = node.kind() == event_kind::enter_indexed ? std::optional{node.index()} : std::nullopt;
      path = look_up(key_of(parent, &node.where(), index), false, into);
    }
    return paths_of_nodes_[&node] = path;
  }

 private:
  struct path_key {
    std::uint32_t parent = path_record::no_parent;
    site const* where = nullptr;
    bool has_index = false;
    std::int64_t index = 0;
    bool is_step = false;

    bool operator==(path_key const& other) const noexcept {
      return parent == other.parent && where == other.where && has_index == other.has_index && index == other.index &&
             is_step == other.is_step;
    }
  };

  static path_key key_of(std::uint32_t parent, site const* where, std::optional<std::int64_t> const& index) noexcept {
    return {parent, where, index.has_value(), index ? *index : 0, false};
  }

  struct path_hash {
    std::size_t operator()(path_key const& key) const noexcept {
      std::size_t hash = reinterpret_cast<std::uintptr_t>(key.where) / alignof(site);
      hash = hash * 0x9e3779b97f4a7c15U + key.parent;
      hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(key.has_index ? key.index : -1);
      return hash ^ hash >> 32U;
    }
  };

  struct recent_path {
    path_key key;
    std::uint32_t path = 0;
  };

  std::uint32_t look_up(path_key const& key, bool is_bounded, profile& into) {
    auto const known = paths_.find(key);
    if (known != paths_.end()) return known->second;
    path_record wanted{key.parent, key.where->name, key.has_index ? std::optional{key.index} : std::nullopt, key.where->file,
                       key.where->line};
    wanted.is_step = key.is_step;
    std::uint32_t path = find(wanted, into);
    if (path == path_record::no_parent) {
      if (is_bounded && !has_room(wanted)) return path_record::no_parent;
      path = add(std::move(wanted), into);
    }
    return paths_[key] = path;
  }

  std::uint32_t path_of_adopted(std::uint32_t parent, scope_node const& node, std::uint32_t from, profile& into) {
    site const& role = node.where();
    path_record wanted{
        parent,   path_in_step(from, node.adopted_from(), into) + " (" + role.name + ")", std::nullopt, role.file, role.line, from,
        role.name};
    std::uint32_t const path = find(wanted, into);
    return path != path_record::no_parent ? path : add(std::move(wanted), into);
  }

  /// @return `path_record::no_parent` if the profile does not have it.
  std::uint32_t find(path_record const& wanted, profile const& in) {
    while (lengths_.size() < in.paths.size()) know(in.paths[lengths_.size()]);
    auto const [begin, end] = by_name_.equal_range(hash_of(wanted));
    for (auto at = begin; at != end; ++at) {
      path_record const& each = in.paths[at->second];
      if (each.parent == wanted.parent && each.index == wanted.index && each.name == wanted.name &&
          each.adopted_from == wanted.adopted_from && each.role == wanted.role && each.is_step == wanted.is_step)
        return at->second;
    }
    return path_record::no_parent;
  }

  static std::uint32_t add(path_record path, profile& into) {
    into.paths.push_back(std::move(path));
    return static_cast<std::uint32_t>(into.paths.size() - 1);
  }

  void know(path_record const& path) {
    by_name_.emplace(hash_of(path), static_cast<std::uint32_t>(lengths_.size()));
    lengths_.push_back(length_of(path));
    if (lengths_.back() > long_path) long_text_ += lengths_.back();
  }

  /// As text, with the paths around it.
  [[nodiscard]] std::uint64_t length_of(path_record const& path) const {
    std::uint64_t const around = path.parent == path_record::no_parent ? 0 : lengths_[path.parent] + 1;
    return around + path.name.size() + (path.index ? 1 + std::to_string(*path.index).size() : 0);
  }

  [[nodiscard]] bool has_room(path_record const& wanted) const {
    if (wanted.parent == path_record::no_parent && !wanted.index) return true;
    if (lengths_.size() >= (wanted.index ? most_paths : 2 * most_paths)) return false;
    return length_of(wanted) <= long_path || long_text_ < most_long_text;
  }

  static std::size_t hash_of(path_record const& path) {
    std::size_t hash = std::hash<std::string>{}(path.name);
    hash = hash * 0x9e3779b97f4a7c15U + path.parent;
    hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(path.index.value_or(-1));
    return hash ^ hash >> 32U;
  }

  /// "forward/layer_3" of the path "step/forward/layer_3".
  static std::string path_in_step(std::uint32_t path, scope_node const& node, profile const& in) {
    path_record const& record = in.paths[path];
    std::string name = record.index ? record.name + "_" + std::to_string(*record.index) : record.name;
    if (node.parent == nullptr || node.parent->kind() == event_kind::enter_step) return name;
    return path_in_step(record.parent, *node.parent, in) + "/" + name;
  }

  std::array<recent_path, 256> recent_;
  std::unordered_map<path_key, std::uint32_t, path_hash> paths_;
  std::unordered_map<scope_node const*, std::uint32_t> paths_of_nodes_;

  // Of the paths that it knows; the profile may have got others since.
  std::unordered_multimap<std::size_t, std::uint32_t> by_name_;  ///< by hash
  std::vector<std::uint64_t> lengths_;                           ///< as text
  std::uint64_t long_text_ = 0;                                  ///< the sum of those that are long
};

}  // namespace profkit::detail
