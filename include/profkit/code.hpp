// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The implementation of sessions and reports. One file of a program includes this header, best a file of its own; the other headers
/// only declare. The CMake target `profkit::profkit` does this for you.
///
///     #include <profkit/code.hpp>   // in one file
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
