// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "journal_format.hpp"
#include "profile.hpp"
#include "profile_follower.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// A copy of a profile to which others add, made in slices: whoever adds waits for one slice at most. The copy is the profile as it was
/// when the copy began, since the long lists of a profile only grow.
///
/// Not thread-safe: the constructor and `copy_slice` are called with the lock that guards the profile.
class sliced_copy {
 public:
  /// Copies everything but the lists that grow, of which it notes the lengths.
  explicit sliced_copy(profile const& from) : to_{copy_} {
    beginning first{*this};
    fields(first, const_cast<profile&>(from));  // `fields` names the members for both directions
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

  /// All but the lists that grow, which may be changed at any time.
  [[nodiscard]] profile& head() noexcept { return copy_; }

  /// To be called once, when nothing is left to copy.
  [[nodiscard]] profile take() { return std::move(copy_); }

 private:
  /// About 20 us, most of which the system takes to give the memory.
  static constexpr std::size_t max_slice_bytes = std::size_t{32} << 10U;

  struct beginning {
    sliced_copy& of;
    std::size_t member = 0;

    template <class Member>
    void operator()(Member const& from) {
      auto& to = *static_cast<Member*>(of.to_.list[member++]);
      if constexpr (is_growing<Member>) {
        of.sizes_.push_back(from.size());
        to.reserve(from.size());
      } else {
        to = from;
      }
    }
  };

  struct slice {
    sliced_copy& of;
    std::size_t member = 0;
    std::size_t list = 0;
    std::size_t bytes_left = max_slice_bytes;
    bool has_more = false;

    template <class Member>
    void operator()(Member const& from) {
      void* const to = of.to_.list[member++];
      if constexpr (is_growing<Member>) copy(from, *static_cast<Member*>(to), of.sizes_[list++]);
    }

    template <class Record>
    void copy(std::vector<Record> const& from, std::vector<Record>& to, std::size_t size) {
      std::size_t const count = std::min(size - to.size(), bytes_left / sizeof(Record));
      auto const first = from.begin() + static_cast<std::ptrdiff_t>(to.size());
      to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
      bytes_left -= count * sizeof(Record);
      has_more = has_more || to.size() < size;
    }
  };

  profile copy_;
  member_addresses to_;             ///< of `copy_`
  std::vector<std::size_t> sizes_;  ///< that the lists which grow will have
};

}  // namespace profkit::detail
