// SPDX-License-Identifier: Apache-2.0
//
// The only unit of the trainer that compiles the code of profkit's reports; the others define PROFKIT_REPORT_ELSEWHERE.
#undef PROFKIT_REPORT_ELSEWHERE
#include <profkit/report/report.hpp>

template struct profkit::detail::report_code<void>;
