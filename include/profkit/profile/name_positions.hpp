// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "own_containers.hpp"

namespace profkit::detail {

/// Maps unique texts to positions in a list.
class name_positions {
 public:
  /// @param size size of the list, which becomes the position of a new text.
  /// @return the position of the text, and whether it is new. If it is new, the caller must append the entry to the list.
  std::pair<std::uint32_t, bool> find_or_add(std::string key, std::size_t size) {
    auto const [known, is_new] = positions_.try_emplace(std::move(key), static_cast<std::uint32_t>(size));
    return {known->second, is_new};
  }

  [[nodiscard]] bool knows(std::string const& key) const { return positions_.count(key) > 0; }

 private:
  own_hash_map<std::string, std::uint32_t> positions_;
};

}  // namespace profkit::detail
