// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trainer {

/// FNV-1a with 64 bits, taking a number where the original takes a byte. Source: Fowler, Noll, Vo,
/// http://www.isthe.com/chongo/tech/comp/fnv.
/// @param before the hash of the previous values.
template <class Numbers>
[[nodiscard]] constexpr std::uint64_t fnv_1a(Numbers const& numbers, std::uint64_t before = 0xCBF29CE484222325) {
  for (auto const number : numbers) before = (before ^ static_cast<std::uint64_t>(number)) * 0x100000001B3;
  return before;
}

}  // namespace trainer
