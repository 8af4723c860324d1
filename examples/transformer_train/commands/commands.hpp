// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "errors.hpp"

namespace CLI {
class App;
}

namespace trainer {

/// What the command line asks for. @throws input_error for arguments that do not go together.
using command = std::function<exit_code()>;

/// Each adds its subcommand, which puts itself into `chosen` when it is given.
void add_sweep_command(CLI::App& app, command& chosen);
void add_attention_command(CLI::App& app, command& chosen);
void add_silu_command(CLI::App& app, command& chosen);
void add_loader_command(CLI::App& app, command& chosen);

}  // namespace trainer
