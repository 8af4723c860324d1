// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/result_file.hpp"

namespace trainer {

/// One measurement of a command that makes many.
struct cell {
  std::vector<std::string> key;
  double weight = 1.0;                                ///< what it takes, beside the others, to say how long the rest will take
  std::function<std::vector<std::string>()> measure;  ///< gives the columns after the key; the first is the status
};

/// Measures the cells that the file does not have yet, in their order, with a line on stderr after each: what came out, and when the rest
/// will be done.
void measure_cells(result_file& into, std::vector<cell> const& cells);

}  // namespace trainer
