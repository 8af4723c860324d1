// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "../profile/own_containers.hpp"
#include "../record/site.hpp"

namespace profkit::detail {

/// Remembers table positions by site, so that names are not compared for each event.
class recent_sites {
 public:
  /// @param find returns the position of a site that is not known.
  template <class Find>
  std::uint32_t position_of(site const& where, Find&& find) {
    auto& [last, position] = recent_[reinterpret_cast<std::uintptr_t>(&where) / sizeof(site) % recent_.size()];
    if (last == &where) return position;
    auto const known = all_.find(&where);
    position = known != all_.end() ? known->second : all_[&where] = find();
    last = &where;
    return position;
  }

 private:
  std::array<std::pair<site const*, std::uint32_t>, 64> recent_{};
  own_hash_map<site const*, std::uint32_t> all_;
};

}  // namespace profkit::detail
