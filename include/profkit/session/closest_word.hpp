// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// The minimum number of letters to insert, remove or replace to turn one word into the other. Source: Wagner and Fischer, "The
/// String-to-String Correction Problem", 1974.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  own_vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

/// The first word of a list such as "off, steps=N|auto, nvtx=on|off" that is close to a misspelt word; empty if none is.
/// @param list the text after "=" is not part of a word.
[[nodiscard]] inline std::string_view closest_word(std::string_view misspelt, std::string_view list) {
  constexpr std::size_t max_length = 32;  // longer than every word
  std::size_t least = misspelt.size() > max_length ? 0 : misspelt.size() / 3 + 2;
  std::string_view closest;
  while (!list.empty()) {
    std::size_t const end = std::min(list.find(", "), list.size());
    std::string_view const word = list.substr(0, std::min(list.find('='), end));
    std::size_t const distance = edit_distance(misspelt.substr(0, max_length), word);
    if (distance < least && distance < word.size()) {
      least = distance;
      closest = word;
    }
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return closest;
}

}  // namespace profkit::detail
