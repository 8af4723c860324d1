// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "../profile/own_memory.hpp"
#include "document.hpp"
#include "text_bar.hpp"
#include "text_style.hpp"
#include "text_width.hpp"

namespace profkit::detail {

/// The head of a document as text: title, headline and findings. @param max_lines maximum number of lines of each of these texts.
inline own_vector<std::string> head_lines(document const& document, text_style const& style, std::size_t max_lines) {
  own_vector<std::string> result;
  auto const add = [&](std::string const& text, std::string const& first, std::string const& next, char const* colours) {
    for (std::string const& line : wrapped(printable(text, style), first, next, style.width, max_lines))
      result.push_back(colours == nullptr ? line : coloured(line, colours, style));
  };
  std::string about = document.version + "   " + document.title + " " + document.subtitle;
  replace_all(about, " \xc2\xb7 ", "   ");
  result.push_back(cut_at_the_end(without_no_break(printable(about, style)), style.width));
  result.emplace_back();
  add(document.headline + ".", "", "", "\x1b[1m");
  std::size_t number = 0;
  for (finding const& each : document.findings) {
    add(each.headline + " " + each.text, fmt::format(" {} ", ++number), "   ", nullptr);
    add(each.action, "   > ", "     ", "\x1b[36m");
  }
  return result;
}

}  // namespace profkit::detail
