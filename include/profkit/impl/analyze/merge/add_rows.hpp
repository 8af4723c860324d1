// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/check_read.hpp"
#include "../../profile/own_memory.hpp"

namespace profkit::detail {

/// Moves rows to new positions.
/// @param row_of maps old positions to new positions.
template <class Row>
void make_rows(own_vector<Row>& to, own_vector<std::uint32_t> const& row_of) {
  for (std::uint32_t const row : row_of) {
    if (row >= to.size()) to.resize(row + std::size_t{1});
  }
}

/// Adds rows to rows with other positions.
/// @tparam Row has `add(Row const&)`; a default-constructed row adds nothing.
/// @param row_of maps positions in `from` to positions in `to`, which grows as needed.
/// @throws profkit::error if there are more rows than positions: `from` was read from a damaged file.
template <class Row>
void add_rows(own_vector<Row>& to, own_vector<Row> const& from, own_vector<std::uint32_t> const& row_of) {
  check_read(from.size() <= row_of.size(), "figures without a path or name");
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (row_of[i] >= to.size()) to.resize(row_of[i] + std::size_t{1});
    to[row_of[i]].add(from[i]);
  }
}

}  // namespace profkit::detail
