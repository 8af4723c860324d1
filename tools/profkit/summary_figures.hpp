// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/summary.hpp>

#include <string>

#include "run_figures.hpp"

namespace profkit_program {

/// The figures of one run, for a comparison.
/// @param file the source of the summary, for error messages.
/// @throws profkit::error that names the file and the field that cannot be compared.
[[nodiscard]] run_figures figures_of_run(profkit::summary const& run, std::string file);

}  // namespace profkit_program
