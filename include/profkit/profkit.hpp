// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief All host features: scopes, NVTX, sessions and reports. Include it in one translation unit of a program, usually the one with
/// `main`. That unit enables NVTX for the whole program. All other units need only `scope.hpp`, which compiles much faster.
///
///     profkit::session session;                        // options: the environment variable PROFKIT
///     for (profkit::step step : session) {
///       PROF_SCOPE("forward");
///       forward();
///     }
///     session.report().write("out");

#include "analyze.hpp"
#include "impl/collect/built_in_collectors.hpp"
#include "impl/collect/nvtx.hpp"
#include "load_report.hpp"
#include "options.hpp"
#include "report.hpp"
#include "save_load.hpp"
#include "scope.hpp"
#include "session.hpp"
#include "summary_file.hpp"
#include "version.hpp"
