// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <type_traits>

#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The state of a running session's data: how far it has arrived in the profile.
struct arrival {
  timestamp logs_until = timestamp::min();      ///< the logs of all threads have been read up to here
  timestamp read_at = timestamp::min();         ///< when they were read, if later
  bool has_steps = false;                       ///< a step has begun
  bool times_steps = false;                     ///< a collector adds to `profile::gpu_steps`
  std::optional<timestamp> unread_gpu_scope{};  ///< the beginning of the oldest GPU scope whose time has not been read
  own_vector<scope_record> open_scopes{};       ///< open scopes of each thread, innermost first; their ends are `timestamp::max()`
  std::optional<timestamp> open_call{};         ///< the beginning of the oldest API call that has not returned
};

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

}  // namespace PROFKIT_NAMESPACE::detail
