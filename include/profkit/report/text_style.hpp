// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

namespace profkit::detail {

/// The style of printed text.
struct text_style {
  static constexpr std::size_t max_width = 120;
  static constexpr std::size_t min_width = 60;

  std::size_t width = max_width;  ///< in columns
  std::size_t max_lines = 60;     ///< maximum length of the first screen
  bool is_utf8 = true;            ///< use block characters; false: only ASCII, except in names
  bool has_colours = false;       ///< use ANSI escape sequences
};

/// The value of an environment variable; empty if it is not set.
inline std::string_view variable(char const* name) {
  char const* const value = ::secure_getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

/// Whether the locale of the user has UTF-8. Reads the environment, because most programs do not call `setlocale`.
inline bool is_utf8_locale() {
  std::string_view locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  std::string lower{locale};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower.find("utf-8") != std::string::npos || lower.find("utf8") != std::string::npos;
}

/// The style for files and pipes.
inline text_style plain_style() {
  text_style result;
  result.is_utf8 = is_utf8_locale();
  return result;
}

/// The style for a file descriptor. A terminal determines the width, and has colours unless `NO_COLOR` is set (https://no-color.org) or it
/// is dumb.
inline text_style style_of(int descriptor) {
  text_style result = plain_style();
  if (::isatty(descriptor) != 1) return result;
  result.has_colours = variable("NO_COLOR").empty() && variable("TERM") != "dumb" && !variable("TERM").empty();
  winsize size{};
  std::size_t columns = 0;
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns == 0) {
    std::string const given{variable("COLUMNS")};
    columns = std::strtoul(given.c_str(), nullptr, 10);
  }
  if (columns != 0) result.width = std::clamp(columns, text_style::min_width, text_style::max_width);
  return result;
}

}  // namespace profkit::detail
