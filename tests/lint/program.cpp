// SPDX-License-Identifier: Apache-2.0
//
// The library and the program profkit in one unit, so that clang-tidy reads their common headers once.
// NOLINTBEGIN(bugprone-suspicious-include): the units are one here
#include "library.cpp"

#include "compare.cpp"
#include "compare_command.cpp"
#include "comparison_document.cpp"
#include "comparison_json.cpp"
#include "main.cpp"
#include "ranks_report.cpp"
#include "report_command.cpp"
#include "summary_figures.cpp"
#include "watch_command.cpp"
// NOLINTEND(bugprone-suspicious-include)
