// SPDX-License-Identifier: Apache-2.0
//
// The code of reports, compiled once for all tests.
#include <profkit/report/report.hpp>

template struct profkit::detail::report_code<void>;
