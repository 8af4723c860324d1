// SPDX-License-Identifier: Apache-2.0
//
// The code that prints and writes reports, compiled once for all targets that link profkit::profkit. The other parts of
// `profkit/code.hpp` are in the other files profkit-code-*.cpp, which compile at the same time.

#include <profkit/report/html_printer.hpp>
#include <profkit/report/make_report.hpp>
#include <profkit/report/page_code.hpp>
#include <profkit/report/report_code.hpp>

template struct profkit::detail::page_code<void>;
template struct profkit::detail::report_code<void>;
