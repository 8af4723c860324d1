// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Host ranges, NVTX, sessions and reports: include it in one translation unit of a program, usually that of `main`. From there it
/// switches NVTX on for the whole program. Everywhere else `scope.hpp` is enough, and much lighter.

#include "collect/host_memory.hpp"
#include "collect/measured_roof.hpp"
#include "collect/nvtx.hpp"
#include "options.hpp"
#include "report/report.hpp"
#include "scope.hpp"
#include "session.hpp"
#include "version.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "analyze/analyze.hpp"
#include "profile/save_load.hpp"
#include "report/summary_file.hpp"
#endif
