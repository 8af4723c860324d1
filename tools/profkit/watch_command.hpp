// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compare_command.hpp"

namespace profkit_program {

/// Adds `profkit watch`.
/// @param chosen set if the command line selects this command; must outlive the parsing.
void add_watch_command(CLI::App& app, command& chosen);

}  // namespace profkit_program
