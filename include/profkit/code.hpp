// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The implementation of sessions and reports, for programs with many translation units. One unit includes this header; all others
/// define `PROFKIT_CODE_ELSEWHERE` and compile several times as fast. The CMake target `profkit::profkit` does this for you.
///
///     #include <profkit/code.hpp>   // in one file that does not define PROFKIT_CODE_ELSEWHERE
///
/// Without such a file, the linker reports undefined references to `profkit::detail::session_factory`.

#include "analyze/analyze_code.hpp"
#include "analyze/make_summary.hpp"
#include "collect/collector_code.hpp"
#include "collect/make_collectors.hpp"
#include "collect/nvtx_code.hpp"
#include "collect/nvtx_ranges.hpp"
#include "profile/make_profile.hpp"
#include "profile/make_profile_builder.hpp"
#include "profile/profile_builder_code.hpp"
#include "profile/profile_file_code.hpp"
#include "record/make_step.hpp"
#include "record/step_code.hpp"
#include "report/html_printer.hpp"
#include "report/make_report.hpp"
#include "report/page_code.hpp"
#include "report/report_code.hpp"
#include "session/make_loaded_report.hpp"
#include "session/make_options.hpp"
#include "session/make_session.hpp"
#include "session/options_code.hpp"
#include "session/session_factory.hpp"

// The functions that the other units call. Those units declare them `extern template`.
template struct profkit::detail::analyze_code<void>;
template struct profkit::detail::collector_code<void>;
template struct profkit::detail::nvtx_code<void>;
template struct profkit::detail::options_code<void>;
template struct profkit::detail::page_code<void>;
template class profkit::detail::profile_builder_code<void>;
template struct profkit::detail::profile_file_code<void>;
template struct profkit::detail::report_code<void>;
template struct profkit::detail::session_factory<void>;
template struct profkit::detail::step_code<void>;
