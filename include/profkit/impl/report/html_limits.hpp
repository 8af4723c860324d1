// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace profkit::detail {

/// The maximum amounts of content on a page. `html_printer` halves the limits until the page is small enough.
struct html_limits {
  std::size_t rows = 1000;        ///< rows of a table
  std::size_t boxes = 1200;       ///< boxes of an icicle
  std::size_t points = 500;       ///< points of a line, and steps in the figure of steps; further steps are drawn as ranges
  std::size_t folded_rows = 400;  ///< rows of a completely folded table
  std::size_t figures = 100;      ///< blocks of a section

  /// The smallest limits, where halving stops.
  [[nodiscard]] bool are_smallest() const noexcept { return rows <= 15; }

  [[nodiscard]] html_limits halved() const noexcept { return {rows / 2, boxes / 2, points / 2 + 1, folded_rows / 2, figures / 2 + 1}; }
};

}  // namespace profkit::detail
