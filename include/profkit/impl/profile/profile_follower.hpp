// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "../../profile.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Lists the addresses of the members of a profile, in the order of `fields`.
struct member_addresses {
  own_vector<void*> list{};

  explicit member_addresses(profile& profile) { fields(*this, profile); }

  template <class Member>
  void operator()(Member& member) {
    list.push_back(&member);
  }
};

/// Keeps a copy of a growing profile up to date. Records may be removed from the copy.
class profile_follower {
 public:
  /// Appends new table entries and new records; assigns all other members.
  void copy_new(profile const& from, profile& to) {
    member_addresses const members{to};
    copy next{*this, members.list};
    fields(next, const_cast<profile&>(from));  // `fields` lists the members for reading and writing
  }

 private:
  struct copy {
    profile_follower& follower;
    own_vector<void*> const& to;
    std::size_t member = 0;
    std::size_t list = 0;

    template <class Member>
    void operator()(Member const& from) {
      auto& into = *static_cast<Member*>(to[member++]);
      if constexpr (is_growing<Member>) {
        if (list == follower.copied_.size()) follower.copied_.push_back(0);
        std::size_t& copied = follower.copied_[list++];
        into.insert(into.end(), from.begin() + static_cast<std::ptrdiff_t>(copied), from.end());
        copied = from.size();
      } else {
        into = from;
      }
    }
  };

  own_vector<std::size_t> copied_;  ///< number of copied entries of each growing list
};

/// Moves the entries of all growing lists of a profile to the ends of the lists of another profile. Without memory, it moves none.
class profile_append {
 public:
  static void move(profile& from, profile& to) {
    member_addresses const members{to};
    visitor<make_room> first{members.list};
    fields(first, from);
    visitor<move_entries> then{members.list};
    fields(then, from);
  }

 private:
  template <class Action>
  struct visitor {
    own_vector<void*> const& to;
    std::size_t member = 0;

    template <class Member>
    void operator()(Member& from) {
      auto& into = *static_cast<Member*>(to[member++]);
      if constexpr (is_growing<Member>) Action{}(from, into);
    }
  };

  struct make_room {
    template <class List>
    void operator()(List const& from, List& into) const {
      std::size_t const size = into.size() + from.size();
      if (!into.empty() && size > into.capacity()) into.reserve(std::max(size, 2 * into.size()));
    }
  };

  struct move_entries {
    template <class List>
    void operator()(List& from, List& into) const noexcept {
      if (into.empty()) into.swap(from);
      into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      from.clear();
    }
  };
};

}  // namespace profkit::detail
