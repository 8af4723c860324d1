// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "../record/site.hpp"

namespace profkit::detail {

/// Caches table positions by site, so that names are not compared for each event.
class recent_sites {
 public:
  /// @param find returns the position of a site that is not cached.
  template <class Find>
  std::uint32_t position_of(site const& where, Find&& find) {
    auto& [known, position] = recent_[reinterpret_cast<std::uintptr_t>(&where) / sizeof(site) % recent_.size()];
    if (known != &where) {
      position = find();
      known = &where;
    }
    return position;
  }

 private:
  std::array<std::pair<site const*, std::uint32_t>, 64> recent_{};
};

}  // namespace profkit::detail
