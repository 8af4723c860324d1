// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/report/document.hpp>
#include <profkit/report/markdown_printer.hpp>
#include <profkit/report/text_printer.hpp>
#include <profkit/report/text_style.hpp>

#include <string>

namespace profkit_program {

/// The document of a comparison for a terminal, or as Markdown.
[[nodiscard]] inline std::string comparison_text(profkit::detail::document const& what, bool as_markdown) {
  if (as_markdown) return profkit::detail::markdown_printer{what}.print();
  return profkit::detail::text_printer{what, profkit::detail::plain_style()}.print();
}

}  // namespace profkit_program
