// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "../profile/profile_builder.hpp"
#include "../record/site.hpp"

namespace profkit::detail {

/// Finds the paths of scopes by their sites, without a comparison of names for a scope that was seen before.
class scope_paths {
 public:
  /// @param parent position of the path around it, or `path_record::no_parent`.
  /// @return its position. Where the table of paths is full, that is counted; the result is then the path without the index, or
  /// `path_record::no_parent`: the scope has no path.
  std::uint32_t path_of(std::uint32_t parent, site const& where, std::optional<std::int64_t> index, profile_builder& into) {
    path_key const key{parent, &where, index.has_value(), index.value_or(0)};
    recent_path& recent = recent_[path_hash{}(key) % recent_.size()];
    if (recent.key == key) return recent.path;
    std::uint32_t const path = look_up(key, into);
    if (path != path_record::no_parent) {
      recent = {key, path};
      return path;
    }
    into.count(&quality_record::rowless_scopes);
    return index ? look_up({parent, &where, false, 0}, into) : path_record::no_parent;
  }

 private:
  struct path_key {
    std::uint32_t parent = path_record::no_parent;
    site const* where = nullptr;
    bool has_index = false;
    std::int64_t index = 0;

    bool operator==(path_key const& other) const noexcept {
      return parent == other.parent && where == other.where && has_index == other.has_index && index == other.index;
    }
  };

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

  std::uint32_t look_up(path_key const& key, profile_builder& into) {
    auto const known = paths_.find(key);
    if (known != paths_.end()) return known->second;
    auto const path = into.position_if_room(
        {key.parent, key.where->name, key.has_index ? std::optional{key.index} : std::nullopt, key.where->file, key.where->line});
    if (!path) return path_record::no_parent;
    return paths_[key] = *path;
  }

  std::array<recent_path, 256> recent_;
  std::unordered_map<path_key, std::uint32_t, path_hash> paths_;
};

}  // namespace profkit::detail
