// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../profile/profile.hpp"
#include "analyze_code.hpp"
#include "analyze_options.hpp"
#include "summary.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "make_summary.hpp"  // IWYU pragma: export
#endif

namespace profkit {

/// @brief Computes the figures of a profile over its measured steps.
///
/// Takes time proportional to the records (n log n if they are out of order). Thread-safe: no global state, no device access.
/// @param profile a recorded or loaded profile.
/// @param with rules for kernel classes.
/// @return the summary.
/// @tparam Unused void. Files that do not call this template do not compile the destructor of its result.
template <class Unused = void>
[[nodiscard]] summary analyze(profile const& profile, analyze_options const& with = {}) {
  return detail::analyze_code<Unused>::of_whole(profile, with);
}

}  // namespace profkit
