// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// @brief The steps whose records a session keeps, for traces and for `report::profile()`. The figures always cover all steps.
struct kept_steps {
  /// @brief Ways to choose the kept steps.
  enum choice_of_steps : std::uint8_t {
    all = 0,      ///< `keep=all`: all steps within the record budget (`options::max_records`)
    last = 1,     ///< `keep=last:N`: the last `count` steps
    slowest = 2,  ///< `keep=slowest:K`: the `count` slowest measured steps
  };

  choice_of_steps choice = all;  ///< which steps
  std::uint64_t count = 0;       ///< number of steps; unused with `all`
};

}  // namespace profkit
