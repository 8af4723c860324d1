// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace profkit::detail {

/// Positions of the entries of a list, by a text that no two entries share.
class name_positions {
 public:
  /// @param size of the list; the position of a text that is new.
  /// @return the position of the text, and whether it is new: then the caller has to append the entry to the list.
  std::pair<std::uint32_t, bool> find_or_add(std::string key, std::size_t size) {
    auto const [known, is_new] = positions_.try_emplace(std::move(key), static_cast<std::uint32_t>(size));
    return {known->second, is_new};
  }

 private:
  std::unordered_map<std::string, std::uint32_t> positions_;
};

}  // namespace profkit::detail
