// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

}  // namespace profkit::detail
