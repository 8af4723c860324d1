// SPDX-License-Identifier: Apache-2.0
//
// The program profkit in one unit for clang-tidy, which reads what its files have in common once.
// NOLINTBEGIN(bugprone-suspicious-include): they are meant
#include "compare_command.cpp"
#include "main.cpp"
#include "ranks_report.cpp"
#include "report_command.cpp"
#include "watch_command.cpp"
// NOLINTEND(bugprone-suspicious-include)
