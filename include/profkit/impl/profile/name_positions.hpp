// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "own_containers.hpp"

namespace profkit::detail {

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

}  // namespace profkit::detail
