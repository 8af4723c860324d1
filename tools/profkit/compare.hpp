// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "comparison.hpp"
#include "run_figures.hpp"

namespace profkit_program {

/// Compares the runs of two sides: the step, each scope, each kernel and each sampled function. Pure.
///
/// FASTER, SLOWER: the change is relevant (margin, floor), and its range excludes 0. If a program is compared with itself, the step is
/// FASTER or SLOWER in at most `error_rate` of comparisons, and any other row or member in at most `error_rate`. This assumes that the
/// noise between runs is at most the assumed noise; with five or more runs a side it also holds for more. SAME: the 90 % interval of the
/// row lies within the margin: two one-sided tests at 5 % (D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the
/// power approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987); or the row is below the floor on both sides. UNSURE:
/// neither. See docs/compare.md.
/// @param a, b at least one run each, all with at least two steps, or all without; those given with `time_kind::gpu` have kernels.
[[nodiscard]] comparison compare(std::vector<run_figures> const& a, std::vector<run_figures> const& b, compare_options const& options = {});

}  // namespace profkit_program
