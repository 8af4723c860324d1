// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace profkit_program {

/// @param value of a variable of the environment, or another text of C; null: not set.
inline std::string_view text_of(char const* value) noexcept { return value == nullptr ? std::string_view{} : value; }

/// The library that `profkit run` loads into programs.
///
/// The program sets PROFKIT_RUN to its process, which becomes PROGRAM, PROFKIT_RUN_OPTIONS to options that precede those of PROFKIT,
/// PROFKIT_RUN_OUT to the folder of the report, which may have a comma, PROFKIT_RUN_STEP to a pattern or "none", and
/// PROFKIT_RUN_WITH_PROFKIT if it is to record even programs with profkit.
inline constexpr char const* library_of_run = "libprofkit_run.so";

}  // namespace profkit_program
