// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "journal_format.hpp"
#include "own_memory.hpp"
#include "profile.hpp"
#include "profile_follower.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Copies a growing profile in slices, so that writers wait for at most one slice. The copy equals the profile at construction, because the
/// long lists of a profile only grow.
///
/// Not thread-safe: call the constructor and `copy_slice` with the lock that guards the profile.
class sliced_copy {
 public:
  /// Copies all members except the growing lists, and stores the lengths of these lists.
  explicit sliced_copy(profile const& from) : to_{copy_} {
    beginning first{*this};
    fields(first, const_cast<profile&>(from));  // `fields` lists the members for reading and writing
  }

  sliced_copy(sliced_copy const&) = delete;
  sliced_copy& operator=(sliced_copy const&) = delete;

  /// Copies the next records, at most `max_slice_bytes`.
  /// @param from the profile of the constructor.
  /// @return whether records are left to copy.
  [[nodiscard]] bool copy_slice(profile const& from) {
    slice next{*this};
    fields(next, const_cast<profile&>(from));
    return next.has_more;
  }

  /// The copied members other than growing lists. They may be changed at any time.
  [[nodiscard]] profile& head() noexcept { return copy_; }

  /// Returns the copy. To be called once, when nothing is left to copy.
  [[nodiscard]] profile take() { return std::move(copy_); }

 private:
  /// A slice of this size takes about 20 us, mostly page faults.
  static constexpr std::size_t max_slice_bytes = std::size_t{32} << 10U;

  struct beginning {
    sliced_copy& owner;
    std::size_t member = 0;

    template <class Member>
    void operator()(Member const& from) {
      auto& to = *static_cast<Member*>(owner.to_.list[member++]);
      if constexpr (is_growing<Member>) {
        owner.sizes_.push_back(from.size());
        to.reserve(from.size());
      } else {
        to = from;
      }
    }
  };

  struct slice {
    sliced_copy& owner;
    std::size_t member = 0;
    std::size_t list = 0;
    std::size_t bytes_left = max_slice_bytes;
    bool has_more = false;

    template <class Member>
    void operator()(Member const& from) {
      void* const to = owner.to_.list[member++];
      if constexpr (is_growing<Member>) copy(from, *static_cast<Member*>(to), owner.sizes_[list++]);
    }

    template <class Record>
    void copy(own_vector<Record> const& from, own_vector<Record>& to, std::size_t size) {
      std::size_t const count = std::min(size - to.size(), bytes_left / sizeof(Record));
      auto const first = from.begin() + static_cast<std::ptrdiff_t>(to.size());
      to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
      bytes_left -= count * sizeof(Record);
      has_more = has_more || to.size() < size;
    }
  };

  profile copy_;
  member_addresses to_;            ///< addresses of the members of `copy_`
  own_vector<std::size_t> sizes_;  ///< final lengths of the growing lists
};

}  // namespace profkit::detail
