// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Keeps a copy of a growing profile up to date. Records may be removed from the copy.
class profile_follower {
 public:
  /// Appends new table entries and new records; assigns all other members.
  void copy_new(profile const& from, profile& to) {
    std::size_t* copied = copied_.data();
    for_each_member(from, to, [&](auto const& source, auto& into) {
      if constexpr (is_growing<std::decay_t<decltype(into)>>) {
        into.insert(into.end(), source.begin() + static_cast<std::ptrdiff_t>(*copied), source.end());
        *copied = source.size();
      } else {
        into = source;
      }
      ++copied;
    });
  }

 private:
  std::array<std::size_t, profile_members> copied_{};  ///< number of copied entries of each growing list
};

/// Moves the entries of all growing lists of a profile to the ends of the lists of another profile. Without memory, it moves none.
inline void move_entries(profile& from, profile& to) {
  for_each_member(from, to, [](auto const& list, auto& into) {
    if constexpr (is_growing<std::decay_t<decltype(into)>>) {
      std::size_t const size = into.size() + list.size();
      if (!into.empty() && size > into.capacity()) into.reserve(std::max(size, 2 * into.size()));
    }
  });
  for_each_member(from, to, [](auto& list, auto& into) {
    if constexpr (is_growing<std::decay_t<decltype(into)>>) {
      if (into.empty()) into.swap(list);
      into.insert(into.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
      list.clear();
    }
  });
}

}  // namespace profkit::detail
