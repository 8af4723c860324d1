// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/summary.hpp>

#include <string>
#include <vector>

#include "run_figures.hpp"

namespace profkit_program {

/// Mean, spread and autocorrelation.
/// @param samples at least one.
[[nodiscard]] figures figures_of_samples(std::vector<profkit::milliseconds> const& samples);

/// The figures of a series of step times, which `profkit::describe` describes.
/// @param samples at least one.
[[nodiscard]] figures figures_of_steps(std::vector<profkit::milliseconds> const& samples, run_statistic which = run_statistic::mean);

/// The median or the minimum of a call, times the calls per step.
/// @param which not the mean.
[[nodiscard]] figures figures_of_calls(profkit::duration_summary const& calls, std::uint64_t steps, run_statistic which);

/// The figures of a scope or kernel. Its times vary as slowly as those of the step, because they have no series of their own.
/// If further steps may have another mean, medians and minima of the part are not known either.
[[nodiscard]] figures figures_of_part(figures part, figures const& step, run_statistic which = run_statistic::mean);

/// The figures of one run, for a comparison.
/// @param file the source of the summary, for error messages.
/// @throws profkit::error that names the file and the field that cannot be compared.
[[nodiscard]] run_figures figures_of_run(profkit::summary const& run, std::string file, run_statistic which = run_statistic::mean);

}  // namespace profkit_program
