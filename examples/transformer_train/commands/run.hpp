// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/options.hpp>
#include <string>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// Trains, measures, prints the tables and writes them.
/// @param options the numbers of steps; if `output_directory` is set, reports and tables are written there.
/// @return success, or out_of_memory after printing and writing the results so far.
/// @throws input_error before the measurement.
exit_code run(run_config const& config, profkit::options const& options);

}  // namespace trainer
