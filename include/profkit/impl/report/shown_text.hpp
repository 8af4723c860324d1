// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "../profile/own_memory.hpp"

// Names come from the program and may contain any bytes. These functions make them valid UTF-8, and single lines where necessary.

namespace PROFKIT_NAMESPACE::detail {

/// The length of the valid UTF-8 sequence at the beginning of `text`; 0 if there is none. Source: Unicode 15, table 3-7.
inline std::size_t utf8_sequence(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  auto const follows = [&](std::size_t i, unsigned low = 0x80U, unsigned high = 0xbfU) { return byte(i) >= low && byte(i) <= high; };
  unsigned const first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80U) return 1;
  if (first >= 0xc2U && first <= 0xdfU) return follows(1) ? 2 : 0;
  if (first >= 0xe0U && first <= 0xefU) {
    bool const second = follows(1, first == 0xe0U ? 0xa0U : 0x80U, first == 0xedU ? 0x9fU : 0xbfU);
    return second && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    bool const second = follows(1, first == 0xf0U ? 0x90U : 0x80U, first == 0xf4U ? 0x8fU : 0xbfU);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

/// Replaces each byte that is not UTF-8 by U+FFFD, because protobuf and text readers reject such bytes.
inline std::string as_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t const length = utf8_sequence(text);
    result += length == 0 ? std::string_view{"\xef\xbf\xbd"} : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

/// Shortens a name in the middle, because template arguments are there. Does not split UTF-8 characters.
inline std::string shortened(std::string const& name, std::size_t width) {
  if (name.size() <= width) return name;
  auto const continues = [&](std::size_t i) { return i < name.size() && (static_cast<unsigned char>(name[i]) & 0xc0U) == 0x80U; };
  std::size_t head = (width - 3) * 2 / 3;
  std::size_t tail = name.size() - (width - 3 - head);
  while (head > 0 && continues(head)) --head;
  while (continues(tail)) ++tail;
  return name.substr(0, head) + "..." + name.substr(tail);
}

/// Maximum length of a text in a line, in bytes; longer than any kernel name in a table.
inline constexpr std::size_t max_shown_text = 200;

/// Maximum length of the reason of a collector, in bytes.
inline constexpr std::size_t max_shown_reason = 2000;

/// Makes a text safe for a line of output: escapes control characters as in C, so that it cannot break the line or move the cursor, and
/// cuts it at `width` bytes.
inline std::string one_line(std::string_view text, std::size_t width = max_shown_text) {
  std::string const part = as_utf8(shortened(std::string{text}, width));
  std::string result;
  for (std::size_t i = 0; i < part.size(); ++i) {
    auto const c = static_cast<unsigned char>(part[i]);
    // U+0080 to U+009F are control characters; U+2028 and U+2029 end lines.
    bool const is_high_control = c == 0xc2U && static_cast<unsigned char>(part[i + 1]) < 0xa0U;
    bool const ends_line = part.compare(i, 3, "\xe2\x80\xa8") == 0 || part.compare(i, 3, "\xe2\x80\xa9") == 0;
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\r') {
      result += "\\r";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c < 0x20U || c == 0x7fU) {
      result += fmt::format("\\x{:02x}", c);
    } else if (is_high_control) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(part[++i])));
    } else if (ends_line) {
      result += part[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += part[i];
    }
  }
  return result;
}

// Functions that shorten names.

/// The text after the last slash: "forward/layer_*/softmax (backward)" -> "softmax (backward)".
inline std::string last_component(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

/// Shortens a path at its beginning, because its last components are the most specific: "…/ffn_sublayer/swiglu (backward)". Shortens other
/// names in the middle.
inline std::string shortened_path(std::string const& name, std::size_t width) {
  if (name.size() <= width) return name;
  std::size_t const slash = name.find('/', name.size() + 1 - width);
  return slash == std::string::npos || slash + 1 == name.size() ? shortened(name, width) : "\xe2\x80\xa6" + name.substr(slash);
}

/// Shortens names in the middle. Names that would then be equal keep the part that begins at their first difference.
inline own_vector<std::string> distinct_names(own_vector<std::string> const& names, std::size_t width) {
  own_vector<std::string> result;
  std::map<std::string, own_vector<std::size_t>> alike;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result.push_back(shortened(names[i], width));
    alike[result.back()].push_back(i);
  }
  for (auto const& [look, members] : alike) {
    std::string const& first = names[members.front()];
    std::size_t common = first.size();
    for (std::size_t const i : members) {
      std::size_t const shared = std::min(common, names[i].size());
      common = static_cast<std::size_t>(
          std::mismatch(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(shared), names[i].begin()).first - first.begin());
    }
    if (common >= first.size()) continue;  // there is one name, or all names are equal
    std::size_t const head = width / 4;
    std::size_t const rest = width - head - 3;
    for (std::size_t const i : members) {
      std::string const& name = names[i];
      if (name.size() <= width) continue;
      std::size_t const word = name.find_last_of("_<,: ", common);
      std::size_t const begin = word == std::string::npos || word + rest / 2 < common ? common : word + 1;
      std::size_t const from = std::max(head, std::min(begin, name.size() - rest));
      bool const is_cut = from + rest < name.size();
      result[i] = as_utf8(name.substr(0, head)) + "..." + as_utf8(name.substr(from, is_cut ? rest - 3 : rest)) + (is_cut ? "..." : "");
    }
  }
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
