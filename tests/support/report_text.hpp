// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>

#include <stdexcept>
#include <string>
#include <variant>

/// Replaces several blanks by one, so that a test does not depend on column widths.
inline std::string squeezed(std::string const& text) {
  std::string result;
  for (char const c : text) {
    if (c != ' ' || result.empty() || result.back() != ' ') result += c;
  }
  return result;
}

/// The table of a section. @throws std::runtime_error if there is none.
inline profkit::detail::data_table const& table_of(profkit::detail::section const& from, std::string const& name) {
  for (profkit::detail::block const& each : from.blocks) {
    auto const* const table = std::get_if<profkit::detail::data_table>(&each);
    if (table != nullptr && table->name == name) return *table;
  }
  throw std::runtime_error{"there is no table " + name};
}
