// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"

namespace profkit::detail {

inline block_use use_of(block const& what) {
  if (auto const* const table = std::get_if<data_table>(&what)) return table->use;
  if (auto const* const text = std::get_if<note>(&what)) return text->use;
  return block_use::pages;
}

/// The blocks of a section that a printer shows. @param left_out the use of blocks that it does not show.
inline own_vector<block const*> blocks_of(section const& what, block_use left_out) {
  own_vector<block const*> result;
  for (block const& each : what.blocks) {
    if (use_of(each) != left_out) result.push_back(&each);
  }
  return result;
}

}  // namespace profkit::detail
