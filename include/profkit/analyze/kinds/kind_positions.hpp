// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_containers.hpp"
#include "kind_key.hpp"

namespace profkit::detail {

/// The kinds of the steps of a measured time, as positions in a list.
struct kind_positions {
  /// All steps have the same kind.
  kind_positions() = default;

  /// @param of_steps the kinds of the steps, in time order.
  explicit kind_positions(own_vector<kind_key> const& of_steps) {
    own_hash_map<kind_key, std::uint32_t> position_of;
    for (kind_key const kind : of_steps) {
      auto const [known, is_new] = position_of.try_emplace(kind, static_cast<std::uint32_t>(keys.size()));
      of_step.push_back(known->second);
      if (is_new) keys.push_back(kind);
    }
    if (keys.empty()) keys.push_back(other_kinds);  // for figures that belong to no step
    count = keys.size();
  }

  /// @return the position of the kind of a step.
  [[nodiscard]] std::uint32_t operator()(std::size_t step) const { return of_step.empty() ? 0 : of_step[step]; }

  own_vector<kind_key> keys{};
  own_vector<std::uint32_t> of_step{};
  std::size_t count = 1;  ///< number of kinds, at least 1
};

}  // namespace profkit::detail
