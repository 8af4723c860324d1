// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace trainer {

/// Removes the first character from a non-empty byte sequence. A byte that begins no valid UTF-8 sequence yields U+FFFD. Source: The
/// Unicode Standard 15.0, table 3-7, "Well-Formed UTF-8 Byte Sequences".
[[nodiscard]] inline char32_t take_character(std::span<unsigned char const>& bytes) {
  constexpr char32_t replacement = 0xFFFD;
  unsigned char const lead = bytes[0];
  std::size_t const length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  auto const take = [&](std::size_t count, char32_t character) {
    bytes = bytes.subspan(count);
    return character;
  };
  if (length == 1) return take(1, lead);
  if (length == 0 || bytes.size() < length) return take(1, replacement);
  char32_t character = lead & (0xFFU >> (length + 1));
  for (unsigned char const next : bytes.subspan(1, length - 1)) {
    if ((next & 0xC0U) != 0x80U) return take(1, replacement);
    character = character << 6U | (next & 0x3FU);
  }
  // Overlong, half of a surrogate pair, or beyond U+10FFFF.
  constexpr std::array<char32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  bool const is_valid = character >= smallest.at(length) && character <= 0x10FFFF && (character < 0xD800 || character > 0xDFFF);
  return is_valid ? take(length, character) : take(1, replacement);
}

}  // namespace trainer
