// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "../profile/own_memory.hpp"
#include "document.hpp"
#include "listed_table.hpp"
#include "section_blocks.hpp"
#include "shown_text.hpp"
#include "text_width.hpp"

namespace profkit::detail {

/// Converts a text of any bytes to one line of Markdown. Templates would be read as HTML, pointers as emphasis, brackets as links.
inline std::string markdown_text(std::string_view text, std::size_t max_bytes = max_shown_reason) {
  std::string result;
  for (char const c : without_no_break(one_line(text, max_bytes))) {
    if (std::string_view{"|<*`\\[&"}.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// A table with its caption.
inline own_string markdown_of(data_table const& what) {
  listed_table const table{what};
  own_string text = what.caption.empty() ? "" : "### " + markdown_text(what.caption) + "\n\n";
  for (std::string const& each : table.headings()) text += "| " + markdown_text(each) + " ";
  text += "|\n";
  for (std::size_t i = 0; i < table.headings().size(); ++i) text += table.is_left_aligned(i) ? "|---" : "|---:";
  text += "|\n";
  for (listed_table::line const& line : table.lines()) {
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      text += "| ";
      for (std::size_t k = 0; i == 0 && k < line.depth; ++k) text += "&nbsp;&nbsp;";
      text += markdown_text(line.cells[i], max_shown_text) + " ";
    }
    text += "|\n";
  }
  return text + "\n" + (table.rest().empty() ? "" : markdown_text(table.rest()) + "\n\n");
}

/// Prints a document as Markdown: all sections with their tables and notes, without figures and their explanations.
class markdown_printer {
 public:
  /// @param document must outlive this.
  explicit markdown_printer(document const& document) : document_{document} {}

  [[nodiscard]] own_string print() const {
    own_string text = "# " + markdown_text(document_.title) + "\n\n" + paragraph(document_.version + ", " + document_.subtitle + ".") +
                      paragraph(document_.headline + ".");
    for (finding const& each : document_.findings) {
      text += "1. **" + markdown_text(each.headline) + "** " + markdown_text(each.text) +
              (each.action.empty() ? "" : " " + markdown_text(each.action)) + "\n";
    }
    text += document_.findings.empty() ? "" : "\n";
    for (key_figure const& each : document_.key_figures) {
      text += "* " + markdown_text(each.name) + ": " + (each.value.empty() ? std::string{not_measured} : markdown_text(each.value)) +
              (each.note.empty() ? "" : " (" + markdown_text(each.note) + ")") + "\n";
    }
    for (section const& each : document_.sections) text += print(each);
    return text;
  }

 private:
  static std::string paragraph(std::string_view text) { return text.empty() ? std::string{} : markdown_text(text) + "\n\n"; }

  static own_string print(section const& what) {
    own_string text = "\n## " + markdown_text(what.title) + "\n\n" + paragraph(what.answer);
    bool is_list = false;
    for (block const* const each : blocks_of(what, block_use::pages)) {
      if (auto const* const words = std::get_if<note>(each)) {
        text += "* " + markdown_text(words->text.substr(std::min(words->text.find_first_not_of(' '), words->text.size()))) + "\n";
        is_list = true;
      } else if (auto const* const table = std::get_if<data_table>(each)) {
        text += (is_list ? "\n" : "") + markdown_of(*table);
        is_list = false;
      }
    }
    return text;
  }

  document const& document_;
};

}  // namespace profkit::detail
