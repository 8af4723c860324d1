// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// What a series of steps says about its warm-up.
enum class warmup_finding : std::uint8_t {
  unknown = 0,       ///< too few steps to tell
  enough = 1,        ///< what follows the given warm-up is of one kind
  too_short = 2,     ///< more steps at the beginning differ from the rest
  never_steady = 3,  ///< the steps changed in the second half of the series: that is no warm-up
  drifting = 4,      ///< the steps become longer or shorter all the time
};

}  // namespace profkit
