// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analysis.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

namespace profkit {

/// @brief The figures of a profile over its measured steps: those of an `analysis` of one window that owns all of it.
///
/// Takes time in proportion to the records (n log n if they are out of order), and keeps nothing. Thread-safe.
[[nodiscard]] inline summary analyze(profile const& profile, analyze_options const& with = {}) { return analysis::of_whole(profile, with); }

}  // namespace profkit
