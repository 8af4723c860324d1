// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "commands/result_file.hpp"

namespace trainer {

/// One configuration to measure.
struct cell {
  std::vector<std::string> key;
  double weight = 1.0;                                ///< relative duration, to estimate the remaining time
  std::function<std::vector<std::string>()> measure;  ///< returns the columns after the key; the first is the status
};

/// Measures the cells that the file does not contain yet, in order. After each one, prints its result and the estimated remaining time on
/// stderr.
void measure_cells(result_file& into, std::vector<cell> const& cells);

}  // namespace trainer
