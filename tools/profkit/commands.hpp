// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace profkit_program {

/// Runs the chosen command.
/// @return the exit code.
/// @throws profkit::error for bad input.
using command = std::function<int()>;

// Each adds a command. @param chosen set if the command line selects the command; must outlive the parsing.
void add_compare_command(CLI::App& app, command& chosen);
void add_control_commands(CLI::App& app, command& chosen);
void add_report_command(CLI::App& app, command& chosen);
void add_run_command(CLI::App& app, command& chosen);
void add_stuck_command(CLI::App& app, command& chosen);
void add_watch_command(CLI::App& app, command& chosen);

}  // namespace profkit_program
