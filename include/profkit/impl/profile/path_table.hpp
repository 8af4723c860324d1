// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "../../profile.hpp"
#include "own_containers.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Maps unique texts to positions in a list.
class name_positions {
 public:
  /// Appends an entry to the list of this table if the text is new. Without memory, neither the table nor the list changes.
  /// @param make_entry returns the entry.
  /// @return the position of the text in the list.
  template <class Entry, class MakeEntry>
  std::uint32_t find_or_add(std::string key, own_vector<Entry>& list, MakeEntry const& make_entry) {
    static_assert(std::is_nothrow_move_constructible_v<Entry>);
    if (auto const known = positions_.find(key); known != positions_.end()) return known->second;
    Entry entry = make_entry();
    make_room_for_one(list);
    auto const position = static_cast<std::uint32_t>(list.size());
    positions_.emplace(std::move(key), position);  // the last allocation
    list.push_back(std::move(entry));
    return position;
  }

  [[nodiscard]] bool knows(std::string const& key) const { return positions_.count(key) > 0; }

 private:
  own_hash_map<std::string, std::uint32_t> positions_;
};

/// The outermost path around a path.
inline std::uint32_t root_of(own_vector<path_record> const& paths, std::uint32_t path) noexcept {
  while (paths[path].parent != path_record::no_parent) path = paths[path].parent;
  return path;
}

/// Finds a path in a list of paths, and appends it if it is new. The only writer of that list.
///
/// Each path is a row of every report, and a growing index or deep recursion creates paths without limit. So the table bounds the number of
/// paths, their depth, and the length of their texts, which grows with the square of the depth. The bounds apply only to
/// `find_or_add_if_room`.
class path_table {
 public:
  static constexpr std::size_t max_paths = 65'536;  ///< beyond it, no path with an index is added; beyond twice this number, no path at all
  /// The scopes beyond a bound are merged into a path with this name inside the path around them.
  static constexpr char const* merged_name = "(deeper scopes)";
  static constexpr std::uint32_t max_depth = 512;  ///< maximum number of names in a path
  static constexpr std::uint32_t max_depth_in_files = 2 * max_depth;
  static constexpr std::uint64_t max_text_bytes = std::uint64_t{256} << 20U;  ///< maximum sum over the paths in a file
  static constexpr std::uint64_t long_path_bytes = 1024;
  static constexpr std::uint64_t max_long_bytes = std::uint64_t{16} << 20U;  ///< maximum sum over the paths longer than `long_path_bytes`

  /// @return the position of the path in the list.
  std::uint32_t find_or_add(path_record wanted, own_vector<path_record>& paths) {
    std::size_t const hash = hash_of(wanted);
    auto const known = find(wanted, hash, paths);
    return known ? *known : add(std::move(wanted), hash, paths);
  }

  /// Like `find_or_add`, but returns nothing if the path is new and beyond a bound. A root without an index is always added.
  std::optional<std::uint32_t> find_or_add_if_room(path_record wanted, own_vector<path_record>& paths) {
    std::size_t const hash = hash_of(wanted);
    auto const known = find(wanted, hash, paths);
    if (known) return known;
    if (!has_room(wanted)) return std::nullopt;
    return add(std::move(wanted), hash, paths);
  }

  /// Whether a file with this path can be read: see `check_path_lengths`.
  [[nodiscard]] bool fits_files(path_record const& wanted) const {
    return depth_of(wanted) <= max_depth_in_files && text_bytes_ + length_of(wanted) + name_length_of(wanted) <= max_text_bytes;
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> find(path_record const& wanted, std::size_t hash, own_vector<path_record> const& paths) const {
    auto const [begin, end] = by_hash_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      path_record const& each = paths[at->second];
      if (each.parent == wanted.parent && each.index == wanted.index && each.name == wanted.name &&
          each.adopted_from == wanted.adopted_from && each.role == wanted.role && each.is_step == wanted.is_step)
        return at->second;
    }
    return std::nullopt;
  }

  std::uint32_t add(path_record wanted, std::size_t hash, own_vector<path_record>& paths) {
    auto const position = static_cast<std::uint32_t>(paths.size());
    std::uint64_t const length = length_of(wanted);
    std::uint64_t const name = name_length_of(wanted);
    static_assert(std::is_nothrow_move_constructible_v<path_record>);
    make_room_for_one(places_);
    make_room_for_one(paths);
    by_hash_.emplace(hash, position);  // the last allocation: without memory, nothing changes
    text_bytes_ += length + name;
    places_.push_back({length, wanted.name.size() + name, depth_of(wanted)});
    paths.push_back(std::move(wanted));
    if (length > long_path_bytes) long_bytes_ += length;
    return position;
  }

  /// The length of a path as text, including its parents.
  [[nodiscard]] std::uint64_t length_of(path_record const& path) const {
    std::uint64_t const around = path.parent == path_record::no_parent ? 0 : places_[path.parent].length + 1;
    return around + path.name.size() + (path.index ? 1 + std::to_string(*path.index).size() : 0);
  }

  /// The length that the chain of adoptions adds to a name.
  [[nodiscard]] std::uint64_t name_length_of(path_record const& path) const {
    return path.adopted_from == path_record::no_parent ? 0 : places_[path.adopted_from].name + path.role.size() + path.name.size() + 3;
  }

  /// The number of names in a path.
  [[nodiscard]] std::uint32_t depth_of(path_record const& path) const {
    return path.parent == path_record::no_parent ? 1 : places_[path.parent].depth + 1;
  }

  [[nodiscard]] bool has_room(path_record const& wanted) const {
    if (wanted.parent == path_record::no_parent && !wanted.index) return true;
    if (places_.size() >= (wanted.index ? max_paths : 2 * max_paths) || depth_of(wanted) > max_depth) return false;
    return length_of(wanted) <= long_path_bytes || long_bytes_ < max_long_bytes;
  }

  static std::size_t hash_of(path_record const& path) {
    std::size_t hash = std::hash<std::string>{}(path.name);
    hash = hash * 0x9e3779b97f4a7c15U + path.parent;
    hash = hash * 0x9e3779b97f4a7c15U + static_cast<std::size_t>(path.index.value_or(-1));
    return hash ^ hash >> 32U;
  }

  struct place {
    std::uint64_t length;  ///< length of the path as text
    std::uint64_t name;    ///< at least the length of the name with the roles of its chain of adoptions
    std::uint32_t depth;   ///< number of its names
  };

  own_hash_multimap<std::size_t, std::uint32_t> by_hash_;
  own_vector<place> places_;      ///< by path
  std::uint64_t text_bytes_ = 0;  ///< sum of the lengths of all paths, with the names of adoptions
  std::uint64_t long_bytes_ = 0;  ///< sum of the lengths above `long_path_bytes`
};

}  // namespace PROFKIT_NAMESPACE::detail
