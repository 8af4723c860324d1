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

#include "analyze/analyze.hpp"
#include "collect/gpu_utilization.hpp"
#include "collect/host_memory.hpp"
#include "collect/host_samples.hpp"
#include "collect/measured_roof.hpp"
#include "collect/nvtx.hpp"
#include "options.hpp"
#include "profile/save_load.hpp"
#include "report/report.hpp"
#include "report/summary_file.hpp"
#include "scope.hpp"
#include "session.hpp"
#include "session/load_report.hpp"
#include "session/process_rank.hpp"
#include "version.hpp"
