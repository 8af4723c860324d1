// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "shown_text.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// Whether a person looks at a descriptor: it is the controlling terminal of this process. Launchers such as mpirun give ranks a terminal
/// of their own, and write to a file what arrives there.
inline bool is_looked_at(int descriptor) { return ::isatty(descriptor) == 1 && ::tcgetpgrp(descriptor) >= 0; }

/// The style for a file descriptor. A terminal determines the width. It has colours if a person looks at it, unless `NO_COLOR` is set
/// (https://no-color.org) or it is dumb.
inline text_style style_of(int descriptor) {
  text_style result = plain_style();
  if (::isatty(descriptor) != 1) return result;
  result.has_colours = is_looked_at(descriptor) && variable("NO_COLOR").empty() && variable("TERM") != "dumb" && !variable("TERM").empty();
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

// Text in lines of a given width, counted in characters, not in bytes.

/// The number of characters of valid UTF-8.
inline std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

inline std::string first_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size()) {
    bool const begins = (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;
    if (begins && count-- == 0) break;
    ++at;
  }
  return std::string{text.substr(0, at)};
}

inline std::string last_characters(std::string_view text, std::size_t count) {
  std::size_t const all = width_of(text);
  return all <= count ? std::string{text} : std::string{text.substr(first_characters(text, all - count).size())};
}

/// Shortens in the middle to a number of characters.
inline std::string cut_in_the_middle(std::string const& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  if (width <= 3) return first_characters(text, width);
  std::size_t const head = (width - 3) * 2 / 3;
  return first_characters(text, head) + "..." + last_characters(text, width - 3 - head);
}

inline std::string cut_at_the_end(std::string const& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  return width <= 3 ? first_characters(text, width) : first_characters(text, width - 3) + "...";
}

/// Pads with blanks at the right, or at the left.
inline std::string padded(std::string text, std::size_t width, bool is_right_aligned = false) {
  std::size_t const used = width_of(text);
  if (used >= width) return text;
  return is_right_aligned ? std::string(width - used, ' ') + text : text + std::string(width - used, ' ');
}

/// Replaces each occurrence, from left to right.
inline void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// Converts valid text to one printable line: control characters are escaped, and without UTF-8 the special characters of profkit are
/// replaced by ASCII. No-break spaces are kept; `without_no_break` removes them when lines are broken.
inline std::string printable(std::string_view text, text_style const& style, std::size_t max_bytes = max_shown_reason) {
  std::string result = one_line(text, max_bytes);
  if (style.is_utf8) return result;
  static constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"\xc2\xb1", "+-"},      {"\xc3\x97", "x"},     {"\xe2\x88\x92", "-"}, {"\xc2\xb5", "u"},
      {"\xe2\x80\xa6", "..."}, {"\xe2\x80\xba", ">"}, {"\xc2\xb7", " "},     {"\xc2\xb0", " "}};
  for (auto const& [sign, ascii] : signs) replace_all(result, sign, ascii);
  return result;
}

/// Replaces no-break spaces by blanks.
inline std::string without_no_break(std::string text) {
  replace_all(text, "\xc2\xa0", " ");
  return text;
}

/// Breaks a text at blanks, never at no-break spaces. Text beyond `max_lines` is cut with "...".
/// @param first prefix of the first line; `next` is the prefix of the others.
inline own_vector<std::string> wrapped(std::string_view text, std::string const& first, std::string const& next, std::size_t width,
                                       std::size_t max_lines) {
  own_vector<std::string> lines;
  std::string line = first;
  bool is_begun = false;
  while (!text.empty()) {
    std::size_t const blank = text.find(' ');
    std::string const word{text.substr(0, blank)};
    text = blank == std::string_view::npos ? std::string_view{} : text.substr(blank + 1);
    if (word.empty()) continue;
    if (is_begun && width_of(line) + 1 + width_of(word) > width) {
      if (lines.size() + 1 == max_lines) {
        lines.push_back(without_no_break(width_of(line) + 4 <= width ? line + " ..." : cut_at_the_end(line + " ...", width)));
        return lines;
      }
      lines.push_back(without_no_break(std::move(line)));
      line = next;
      is_begun = false;
    }
    line += (is_begun ? " " : "") + word;
    if (width_of(line) > width) line = cut_at_the_end(line, width);
    is_begun = true;
  }
  if (is_begun) lines.push_back(without_no_break(std::move(line)));
  return lines;
}

// Bars and curves of block characters.

inline std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

/// The sum of a bar's parts.
inline double bar_length(bar_cell const& bar) {
  double sum = 0.0;
  for (bar_part const& each : bar.parts) sum += each.value;
  return sum;
}

/// The escape sequence that starts a colour.
inline char const* ansi_colour(colour meaning) {
  static constexpr char const* grey = "\x1b[90m";
  static constexpr std::array<char const*, 10> sequences{"\x1b[34m", "\x1b[33m", "\x1b[31m", "\x1b[35m", "\x1b[93m",  // as in `colour`
                                                         grey,       grey,       "\x1b[32m", grey,       "\x1b[34m"};
  return sequences[static_cast<std::size_t>(meaning)];
}

/// Encloses `text` in an escape sequence and the reset if the style has colours.
inline std::string coloured(std::string const& text, char const* sequence, text_style const& style) {
  return style.has_colours && !text.empty() ? sequence + text + "\x1b[0m" : text;
}

/// A bar: the first part solid, all others light. A bar with one part ends with a resolution of an eighth of a character.
/// @param scale the value of `width` characters.
inline std::string text_bar(bar_cell const& bar, double scale, std::size_t width, text_style const& style) {
  static constexpr std::array<std::string_view, 8> eighths{
      "", "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c", "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89"};
  if (bar.parts.empty() || scale <= 0.0) return {};
  auto const cells = [&](double value) {
    return std::min(static_cast<double>(width), std::max(0.0, value) / scale * static_cast<double>(width));
  };
  bar_part const& first = bar.parts.front();
  std::string_view const solid = style.is_utf8 ? std::string_view{"\xe2\x96\x88"} : std::string_view{"#"};
  if (bar.parts.size() == 1 && style.is_utf8) {
    auto const all = static_cast<std::size_t>(std::lround(cells(first.value) * 8.0));
    return coloured(repeated(solid, all / 8) + std::string{eighths[all % 8]}, ansi_colour(first.meaning), style);
  }
  auto const whole = static_cast<std::size_t>(std::lround(cells(bar_length(bar))));
  std::size_t const busy = std::min(whole, static_cast<std::size_t>(std::lround(cells(first.value))));
  std::string_view const light = style.is_utf8 ? std::string_view{"\xe2\x96\x91"} : std::string_view{"."};
  bar_part const* largest = nullptr;
  for (std::size_t i = 1; i < bar.parts.size(); ++i) {
    if (largest == nullptr || bar.parts[i].value > largest->value) largest = &bar.parts[i];
  }
  std::string text = coloured(repeated(solid, busy), ansi_colour(first.meaning), style);
  return largest == nullptr ? text : text + coloured(repeated(light, whole - busy), ansi_colour(largest->meaning), style);
}

/// A curve with one character for each value, scaled from the smallest to the largest value. If there are more values than characters, a
/// character shows the largest of neighbouring values. Empty without UTF-8.
inline std::string text_curve(own_vector<double> const& values, std::size_t width, text_style const& style) {
  static constexpr std::array<std::string_view, 8> levels{"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83", "\xe2\x96\x84",
                                                          "\xe2\x96\x85", "\xe2\x96\x86", "\xe2\x96\x87", "\xe2\x96\x88"};
  if (!style.is_utf8 || values.empty() || width == 0) return {};
  auto const [low, high] = std::minmax_element(values.begin(), values.end());
  double const range = *high - *low;
  std::size_t const characters = std::min(width, values.size());
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) {
    std::size_t const from = i * values.size() / characters;
    std::size_t const to = std::max(from + 1, (i + 1) * values.size() / characters);
    double value = values[from];
    for (std::size_t k = from; k < to; ++k) value = std::max(value, values[k]);
    double const share = range > 0.0 ? (value - *low) / range : 0.5;
    text += levels[static_cast<std::size_t>(std::lround(share * 7.0))];
  }
  return text;
}

}  // namespace PROFKIT_NAMESPACE::detail
