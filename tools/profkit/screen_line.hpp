// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <profkit/impl/report/shown_text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace profkit_program {

/// What a terminal can show.
struct screen_style {
  bool has_colours = false;
  bool is_utf8 = true;  ///< else ASCII only
};

/// "9.4 s", "94 s", "12 min", "3.2 h", "2.5 days".
inline std::string age_words(std::chrono::duration<double> age) {
  double const seconds = age.count();
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120.0) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200.0) return fmt::format("{:.0f} min", seconds / 60.0);
  if (seconds < 172'800.0) return fmt::format("{:.1f} h", seconds / 3600.0);
  return fmt::format("{:.1f} days", seconds / 86'400.0);
}

/// SGR parameters of ECMA-48.
namespace colour {
inline constexpr std::string_view none{};
inline constexpr std::string_view bold = "1";
inline constexpr std::string_view dim = "2";
inline constexpr std::string_view good = "32";
inline constexpr std::string_view warning = "33";
inline constexpr std::string_view bad = "31";
inline constexpr std::string_view busy = "34";
/// By `profkit::idle_cause`: launch-bound, host-bound, synchronisation, copies, queued.
inline constexpr std::array<std::string_view, 5> idle{"33", "31", "35", "93", "90"};
}  // namespace colour

namespace detail {

/// A character and where the next one begins. The text is valid UTF-8.
inline char32_t next_character(std::string_view text, std::size_t& at) {
  auto const byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  std::size_t const length = std::max<std::size_t>(1, profkit::detail::utf8_sequence(text.substr(at)));
  char32_t value = length == 1 ? byte(at) : byte(at) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = value << 6U | (byte(at + i) & 0x3fU);
  at += length;
  return value;
}

/// How many columns a character takes: 2 if its East Asian width is wide or full (Unicode 15, UAX 11, in blocks), else 1.
inline std::size_t columns_of(char32_t character) {
  struct range {
    char32_t first, last;
  };
  constexpr std::array<range, 12> wide{{{0x1100, 0x115f},
                                        {0x231a, 0x231b},
                                        {0x23e9, 0x23f3},
                                        {0x25fd, 0x27bf},
                                        {0x2b1b, 0x2b55},
                                        {0x2e80, 0xa4cf},
                                        {0xa960, 0xa97f},
                                        {0xac00, 0xd7a3},
                                        {0xf900, 0xfaff},
                                        {0xfe10, 0xfe6f},
                                        {0xff00, 0xffe6},
                                        {0x16fe0, 0x3fffd}}};
  return std::any_of(wide.begin(), wide.end(), [&](range const& each) { return each.first <= character && character <= each.last; }) ? 2
                                                                                                                                     : 1;
}

/// Whether a character changes the direction of others, or is not shown: marks of direction, joiners, variation selectors.
inline bool is_format_character(char32_t c) {
  return c == 0x061c || (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
         (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe0fff);
}

}  // namespace detail

/// A name of the program as text that takes a known number of columns: one line, no control characters.
[[nodiscard]] inline std::string screen_name(std::string_view name, screen_style style) {
  std::string const line = profkit::detail::one_line(name);
  std::string result;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t const begin = at;
    char32_t const character = detail::next_character(line, at);
    bool const is_shown = character < 0x80 || (style.is_utf8 && !detail::is_format_character(character));
    result += is_shown ? std::string_view{line}.substr(begin, at - begin) : "?";
  }
  return result;
}

/// The number of columns of a text from `screen_name`.
[[nodiscard]] inline std::size_t columns_of(std::string_view text) {
  std::size_t result = 0;
  for (std::size_t at = 0; at < text.size();) result += detail::columns_of(detail::next_character(text, at));
  return result;
}

/// The beginning of a text, of at most so many columns.
[[nodiscard]] inline std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t end = 0; end < text.size(); at = end) {
    std::size_t const width = detail::columns_of(detail::next_character(text, end));
    if (width > columns) return text.substr(0, at);
    columns -= width;
  }
  return text;
}

/// A text of at most so many columns: shortened in the middle, where names differ least.
[[nodiscard]] inline std::string shortened_to(std::string const& text, std::size_t columns) {
  std::size_t const width = columns_of(text);
  if (width <= columns) return text;
  constexpr std::size_t dots = 3;
  if (columns <= dots) return std::string(columns, '.');
  std::size_t const head = (columns - dots + 1) / 2;
  std::size_t rest = 0;  // where the tail begins
  for (std::size_t left = width; left > columns - dots - head;) left -= detail::columns_of(detail::next_character(text, rest));
  return std::string{first_columns(text, head)} + "..." + text.substr(rest);
}

/// A line of the screen. What does not fit into the terminal is cut off.
class screen_line {
 public:
  screen_line(std::size_t columns, screen_style style) : columns_{columns}, style_{style} {}

  /// Appends a text without control characters.
  screen_line& add(std::string_view text, std::string_view colour = colour::none) {
    std::string_view const shown = first_columns(text, columns_ - used_);
    if (shown.empty()) return *this;
    set_colour(style_.has_colours ? colour : colour::none);
    text_ += shown;
    used_ += columns_of(shown);
    return *this;
  }

  /// Continues at a column, if it is free.
  screen_line& to(std::size_t column) {
    if (column > used_) add(std::string(column - used_, ' '));
    return *this;
  }

  /// Appends a text that ends before a column.
  screen_line& right(std::size_t column, std::string_view text, std::string_view colour = colour::none) {
    std::size_t const width = columns_of(text);
    return to(column > width ? column - width : 0).add(text, colour);
  }

  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] std::size_t left() const noexcept { return columns_ - used_; }
  [[nodiscard]] std::string text() const { return colour_.empty() ? text_ : text_ + "\x1b[0m"; }

 private:
  void set_colour(std::string_view colour) {
    if (colour == colour_) return;
    if (!colour_.empty()) text_ += "\x1b[0m";
    if (!colour.empty()) text_.append("\x1b[").append(colour).append("m");
    colour_ = colour;
  }

  std::size_t columns_;
  screen_style style_;
  std::size_t used_ = 0;
  std::string_view colour_ = colour::none;  ///< at the end of the text
  std::string text_;
};

/// A value as a character of one of 8 heights: the lowest at `low`, the highest at `high`.
[[nodiscard]] inline std::string_view spark(double value, double low, double high, bool is_utf8) {
  constexpr std::array<std::string_view, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> letters{"_", ".", "-", "=", "+", "*", "#", "@"};
  double const share = high > low ? (value - low) / (high - low) : 0.0;
  auto const height = static_cast<std::size_t>(std::clamp(share * 8.0, 0.0, 7.0));
  return is_utf8 ? blocks[height] : letters[height];
}

}  // namespace profkit_program
