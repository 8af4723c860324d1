// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "../../profile/check_read.hpp"
#include "../../profile/own_memory.hpp"

namespace profkit::detail {

/// Maps an old position to a new one.
/// @throws profkit::error if there is none, because the old position was read from a damaged file.
struct moved_position {
  own_vector<std::uint32_t> const& positions;

  [[nodiscard]] std::uint32_t operator()(std::size_t position) const {
    check_read(position < positions.size(), "figures without a path or name");
    return positions[position];
  }
};

/// The identity mapping of positions.
struct same_position {
  [[nodiscard]] std::size_t operator()(std::size_t position) const noexcept { return position; }
};

/// @return a mapping that keeps all positions.
inline own_vector<std::uint32_t> same_positions(std::size_t count) {
  own_vector<std::uint32_t> result(count);
  std::iota(result.begin(), result.end(), 0U);
  return result;
}

/// Whether a mapping is the identity.
inline bool stay(own_vector<std::uint32_t> const& positions) noexcept {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != i) return false;
  }
  return true;
}

/// Moves figures by path to new positions of the paths. Does not copy if the positions are the same.
/// @tparam Figures has `add(Figures const&, own_vector<std::uint32_t> const&)`; a default-constructed object adds nothing.
template <class Figures>
[[nodiscard]] Figures moved(Figures&& from, own_vector<std::uint32_t> const& path_of) {
  if (stay(path_of)) return std::forward<Figures>(from);
  Figures result;
  result.add(from, path_of);
  return result;
}

}  // namespace profkit::detail
