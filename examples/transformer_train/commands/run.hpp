// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/options.hpp>
#include <string>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// Trains, measures, prints the tables and writes them.
/// @param options how many steps; where its `output_directory` is set, the reports and tables are written there.
/// @return success, or out_of_memory: then what was measured until then was printed and written all the same.
/// @throws input_error before anything is measured.
exit_code run(run_config const& config, profkit::options const& options);

}  // namespace trainer
