// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "is_utf8.hpp"

// A strict reader of profkit's HTML: elements must be closed, attributes quoted, and only the elements of a page are allowed. Browsers
// accept more, so a page that passes here cannot have been changed by a name.

namespace html_parts {

inline constexpr std::array<std::string_view, 44> elements{
    "html",  "head", "meta", "title", "style",   "script",  "body", "header", "main",  "footer",  "section",
    "nav",   "div",  "p",    "span",  "b",       "i",       "s",    "a",      "ol",    "li",      "dl",
    "dt",    "dd",   "h1",   "h2",    "h3",      "figure",  "code", "small",  "table", "caption", "thead",
    "tbody", "tr",   "th",   "td",    "details", "summary", "svg",  "text",   "rect",  "line",    "path"};
inline constexpr std::array<std::string_view, 41> attributes{
    "lang",        "charset", "http-equiv", "content", "name",    "class",      "id",        "style",
    "title",       "href",    "role",       "scope",   "colspan", "aria-label", "aria-sort", "data-t",
    "width",       "height",  "x",          "y",       "x1",      "x2",         "y1",        "y2",
    "dx",          "dy",      "cx",         "cy",      "r",       "d",          "viewBox",   "preserveAspectRatio",
    "stroke-width"};

template <class List>
bool is_in(List const& list, std::string_view name) {
  return !name.empty() && std::find(list.begin(), list.end(), name) != list.end();
}

inline bool is_element(std::string_view name) { return is_in(elements, name) || name == "circle"; }

}  // namespace html_parts

/// The first error in a page; empty if there is none.
inline std::string html_fault(std::string_view page) {
  using namespace html_parts;
  if (!is_utf8(std::string{page})) return "not UTF-8";
  for (char const c : page) {
    if ((static_cast<unsigned char>(c) < 0x20U && c != '\n') || c == '\x7f') return "a control character";
  }
  constexpr std::string_view doctype = "<!DOCTYPE html>\n";
  if (page.substr(0, doctype.size()) != doctype) return "no doctype";
  std::vector<std::string_view> open;
  std::size_t at = doctype.size();
  auto const near = [&] { return " near " + std::string{page.substr(at, 80)}; };
  while (at < page.size()) {
    if (page[at] == '>') return "a raw >" + near();
    if (page[at] != '<') {
      ++at;
      continue;
    }
    bool const closes = page.substr(at, 2) == "</";
    std::size_t const begin = at + (closes ? 2 : 1);
    std::size_t const end = page.find_first_of(" />", begin);
    if (end == std::string_view::npos) return "an element without an end" + near();
    std::string_view const name = page.substr(begin, end - begin);
    if (!is_element(name)) return "an unknown element" + near();
    if (closes) {
      if (page[end] != '>' || open.empty() || open.back() != name) return "a wrong end of an element" + near();
      open.pop_back();
      at = end + 1;
      continue;
    }
    std::size_t next = end;
    while (page[next] == ' ') {
      std::size_t const equals = page.find_first_of("=>", next);
      if (equals == std::string_view::npos || page.substr(equals, 2) != "=\"") return "an attribute without quotes" + near();
      if (!is_in(attributes, page.substr(next + 1, equals - next - 1))) return "an unknown attribute" + near();
      std::size_t const close = page.find('"', equals + 2);
      if (close == std::string_view::npos) return "an attribute without an end" + near();
      if (page.substr(equals + 2, close - equals - 2).find_first_of("<>") != std::string_view::npos)
        return "markup in an attribute" + near();
      next = close + 1;
      if (next >= page.size()) return "an element without an end" + near();
    }
    bool const is_empty = page.substr(next, 2) == "/>";
    if (!is_empty && page[next] != '>') return "an element without an end" + near();
    at = next + (is_empty ? 2 : 1);
    if (name == "style" || name == "script") {  // raw text, without data of the program
      at = page.find("</" + std::string{name} + ">", at);
      if (at == std::string_view::npos) return "a style or script without an end";
      open.push_back(name);
    } else if (!is_empty && name != "meta") {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "an open element: " + std::string{open.back()};
}
