// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

namespace profkit {

/// @brief Computes the figures of a profile over its measured steps.
///
/// Takes time proportional to the records (n log n if they are out of order). Thread-safe: no global state, no device access.
/// @param profile a recorded or loaded profile.
/// @param with rules for kernel classes.
/// @return the summary.
[[nodiscard]] summary analyze(profile const& profile, analyze_options const& with = {});

}  // namespace profkit
