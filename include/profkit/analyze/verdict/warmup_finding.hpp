// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// @brief Whether the warm-up of a series of steps was long enough.
enum class warmup_finding : std::uint8_t {
  unknown = 0,       ///< too few steps to tell
  enough = 1,        ///< the measured steps are of one kind
  too_short = 2,     ///< further steps at the beginning differ from the rest
  never_steady = 3,  ///< the steps changed in the second half of the series, which is not warm-up
  drifting = 4,      ///< the steps get longer or shorter throughout
};

}  // namespace profkit
