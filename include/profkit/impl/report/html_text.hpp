// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "../../document.hpp"
#include "../profile/finite.hpp"
#include "shown_text.hpp"

// Text, numbers and colours in HTML. Names come from the program, so all text passes `html_text`.

namespace profkit::detail {

/// Escapes a text for the content of an element or a quoted attribute. Control characters become visible escapes as in C. So do characters
/// that reorder or hide their neighbours (bidirectional controls, zero-width characters).
/// @param width maximum length in bytes before escaping; longer texts are cut in the middle.
inline std::string html_text(std::string_view text, std::size_t width = max_shown_reason) {
  std::string const line = one_line(text, width);
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    auto const byte = [&](std::size_t at) { return at < line.size() ? static_cast<unsigned char>(line[at]) : 0U; };
    unsigned code = 0;
    std::size_t length = 1;
    if (byte(i) == 0xe2U && byte(i + 1) <= 0x81U) {
      code = 0x2000U + (byte(i + 1) - 0x80U) * 64U + (byte(i + 2) - 0x80U);
      length = 3;
    } else if (byte(i) == 0xd8U && byte(i + 1) == 0x9cU) {
      code = 0x61cU;
      length = 2;
    } else if (byte(i) == 0xefU && byte(i + 1) == 0xbbU && byte(i + 2) == 0xbfU) {
      code = 0xfeffU;
      length = 3;
    }
    bool const is_hidden = code == 0x61cU || code == 0xfeffU || (code >= 0x200bU && code <= 0x200fU) ||
                           (code >= 0x202aU && code <= 0x202eU) || (code >= 0x2060U && code <= 0x206fU);
    if (is_hidden) {
      result += fmt::format("\\u{:04x}", code);
      i += length - 1;
      continue;
    }
    switch (line[i]) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += line[i];
    }
  }
  return result;
}

/// Converts a text to a part of an `id`: letters, digits and hyphens.
inline std::string html_id(std::string_view text) {
  std::string result;
  for (char const c : text.substr(0, 64)) {
    bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += is_plain ? c : '-';
  }
  return result;
}

/// A number with at most `decimals` decimals and no trailing zeros, for coordinates.
inline std::string html_number(double value, int decimals = 2) {
  if (!is_finite(value)) return "0";
  std::string text = fmt::format("{:.{}f}", std::clamp(value, -1e6, 1e6), decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

/// A share as a percentage of a width, between 0 and 100.
inline std::string html_percent(double share) { return html_number(is_finite(share) ? 100.0 * std::clamp(share, 0.0, 1.0) : 0.0) + "%"; }

/// The CSS class of a colour.
inline std::string html_colour(bar_part const& part) {
  constexpr unsigned kernel_classes = 12;
  switch (part.meaning) {
    case colour::busy:
      return "busy";
    case colour::launch_bound:
      return "launch";
    case colour::host_bound:
      return "hostb";
    case colour::synchronisation:
      return "sync";
    case colour::copies:
      return "copies";
    case colour::queued:
      return "queued";
    case colour::host:
      return "host";
    case colour::transfer:
      return "transfer";
    case colour::kernel_class:
      return fmt::format("k{}", part.shade % kernel_classes);
    case colour::neutral:
      break;
  }
  return "neutral";
}

/// The meaning of a colour, for labels inside bars; empty for kernel classes, which have their own names.
inline std::string_view colour_name(colour meaning) {
  switch (meaning) {
    case colour::busy:
      return "busy";
    case colour::launch_bound:
      return "launch-bound";
    case colour::host_bound:
      return "host-bound";
    case colour::synchronisation:
      return "synchronisation";
    case colour::copies:
      return "copies";
    case colour::queued:
      return "queued";
    case colour::host:
      return "host";
    case colour::transfer:
      return "transfer";
    case colour::neutral:
    case colour::kernel_class:
      break;
  }
  return {};
}

}  // namespace profkit::detail
