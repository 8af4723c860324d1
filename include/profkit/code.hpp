// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The implementation of sessions and reports. One file of a program includes this header, best a file of its own; the other headers
/// only declare. The CMake target `profkit::profkit` does this for you.
///
///     #include <profkit/code.hpp>   // in one file
///
/// Without such a file, the linker reports undefined references to `profkit::detail::make_session`.

#include "impl/analyze/analysis_work.hpp"
#include "impl/analyze/windows/add_windows.hpp"
#include "impl/collect/make_collectors.hpp"
#include "impl/collect/nvtx_ranges.hpp"
#include "impl/profile/make_profile_builder.hpp"
#include "impl/record/step_code.hpp"
#include "impl/report/html_printer.hpp"
#include "impl/report/make_document.hpp"
#include "impl/report/make_report.hpp"
#include "impl/report/trace_json.hpp"
#include "impl/session/c_interface.hpp"
#include "impl/session/make_options.hpp"
#include "impl/session/make_session.hpp"
