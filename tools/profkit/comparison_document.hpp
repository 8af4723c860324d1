// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>

#include <string>

#include "comparison.hpp"
#include "comparison_words.hpp"
#include "decision.hpp"

namespace profkit_program {

/// The comparison as a document, which all printers print.
/// @param all whether text and Markdown also list rows that are SAME or UNSURE. Pages always have them, folded.
[[nodiscard]] profkit::detail::document make_comparison_document(comparison const& result, compared_sides const& sides,
                                                                 compare_options const& options, bool all = false,
                                                                 decision const* decided = nullptr);

/// The document of a comparison for a terminal, or as Markdown.
[[nodiscard]] std::string comparison_text(profkit::detail::document const& what, bool as_markdown);

/// All rows as JSON, and for rows that are sums, their scopes. n/a is null; changes are fractions, not percent.
/// @param decided null without `--fail-if-slower`.
[[nodiscard]] std::string comparison_json(comparison const& comparison, compared_sides const& sides, compare_options const& options,
                                          decision const* decided);

}  // namespace profkit_program
