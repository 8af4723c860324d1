// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/report/shown_text.hpp>

#include <cstddef>
#include <string_view>

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t const length = profkit::detail::utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}
