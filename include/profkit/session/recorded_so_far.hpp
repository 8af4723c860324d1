// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "../analyze/summary.hpp"
#include "../profile/profile.hpp"

namespace profkit::detail {

/// A copy of the recording of a running session.
struct recorded_so_far {
  profkit::profile profile;
  std::optional<summary> figures;  ///< figures so far; n/a if the profile has all records
};

}  // namespace profkit::detail
