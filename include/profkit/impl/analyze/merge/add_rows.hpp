// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../profile/own_memory.hpp"

namespace profkit::detail {

/// Makes rows for all positions below a number.
template <class Row>
void grow_rows(own_vector<Row>& rows, std::size_t count) {
  if (rows.size() < count) rows.resize(count);
}

/// Adds rows to those with the same positions.
/// @tparam Row has `add(Row const&)`; a default-constructed row adds nothing.
template <class Row>
void add_rows(own_vector<Row>& to, own_vector<Row> const& from) {
  grow_rows(to, from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i].add(from[i]);
}

/// Moves rows to other positions.
/// @param position_of maps each old position to a new one; no two are equal.
template <class Row>
void move_rows(own_vector<Row>& rows, own_vector<std::uint32_t> const& position_of) {
  own_vector<Row> result(position_of.size());
  for (std::size_t i = 0; i < rows.size(); ++i) result[position_of[i]] = std::move(rows[i]);
  rows = std::move(result);
}

}  // namespace profkit::detail
