// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace profkit::detail {

/// How much of a document a page shows. `html_printer` halves the limits until the page is small enough.
struct html_limits {
  std::size_t rows = 1000;        ///< of one table
  std::size_t boxes = 1200;       ///< of one icicle
  std::size_t points = 500;       ///< of one line, and steps in the figure of steps; more are drawn as ranges
  std::size_t folded_rows = 400;  ///< of a table that is folded as a whole
  std::size_t figures = 100;      ///< blocks of one section

  /// The smallest limits, where halving stops.
  [[nodiscard]] bool are_smallest() const noexcept { return rows <= 15; }

  [[nodiscard]] html_limits halved() const noexcept { return {rows / 2, boxes / 2, points / 2 + 1, folded_rows / 2, figures / 2 + 1}; }
};

}  // namespace profkit::detail
