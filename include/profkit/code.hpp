// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The implementation of sessions and reports, for programs with many translation units. One unit includes this header; all others
/// define `PROFKIT_CODE_ELSEWHERE` and compile several times as fast. The CMake target `profkit::profkit` does this for you.
///
///     #include <profkit/code.hpp>   // in one file that does not define PROFKIT_CODE_ELSEWHERE
///
/// Without such a file, the linker reports undefined references to `profkit::detail::make_session`.

#include "analyze/make_summary.hpp"
#include "collect/make_collectors.hpp"
#include "collect/nvtx_ranges.hpp"
#include "profile/make_profile.hpp"
#include "profile/make_profile_builder.hpp"
#include "record/make_step.hpp"
#include "report/html_printer.hpp"
#include "report/make_report.hpp"
#include "session/make_loaded_report.hpp"
#include "session/make_options.hpp"
#include "session/make_session.hpp"
