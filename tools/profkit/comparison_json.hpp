// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "comparison.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"

namespace profkit_program {

/// All rows as JSON, and the scopes of which rows are sums. n/a is null; changes are fractions, not percent.
/// @param decided null without `--fail-if-slower`.
[[nodiscard]] std::string comparison_json(comparison const& comparison, compared_sides const& sides, compare_options const& options,
                                          decision const* decided);

}  // namespace profkit_program
