// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "errors.hpp"

namespace CLI {
class App;
}

namespace trainer {

/// Runs the chosen command.
/// @throws input_error for contradictory arguments.
using command = std::function<exit_code()>;

/// Each function adds its subcommand, which sets `chosen` when it is selected.
void add_sweep_command(CLI::App& app, command& chosen);
void add_attention_command(CLI::App& app, command& chosen);
void add_silu_command(CLI::App& app, command& chosen);
void add_loader_command(CLI::App& app, command& chosen);

}  // namespace trainer
