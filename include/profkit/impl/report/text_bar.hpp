// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "../../document.hpp"
#include "../profile/own_memory.hpp"
#include "text_width.hpp"

// Bars and curves of block characters.

namespace profkit::detail {

/// Repeats `text` `count` times.
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
  switch (meaning) {
    case colour::busy:
    case colour::kernel_class:
      return "\x1b[34m";
    case colour::launch_bound:
      return "\x1b[33m";
    case colour::host_bound:
      return "\x1b[31m";
    case colour::synchronisation:
      return "\x1b[35m";
    case colour::copies:
      return "\x1b[93m";
    case colour::transfer:
      return "\x1b[32m";
    case colour::queued:
    case colour::host:
    case colour::neutral:
      break;
  }
  return "\x1b[90m";
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

}  // namespace profkit::detail
