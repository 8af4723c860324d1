// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The code of sessions and reports, for a program of many translation units: one includes this header, all others define
/// `PROFKIT_CODE_ELSEWHERE`, and compile several times as fast.

#include "report/make_report.hpp"
#include "report/report_code.hpp"
#include "session/make_session.hpp"
#include "session/session_code.hpp"

template struct profkit::detail::report_code<void>;
template struct profkit::detail::session_code<void>;
