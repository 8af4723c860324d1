// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace profkit_program {

/// Runs what the command line chose.
/// @return the exit code.
/// @throws profkit::error for bad input.
using command = std::function<int()>;

/// Adds `profkit compare`.
/// @param chosen is set where that is what the command line says; outlives the parsing.
void add_compare_command(CLI::App& app, command& chosen);

}  // namespace profkit_program
