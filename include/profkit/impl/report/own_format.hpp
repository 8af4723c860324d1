// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "../profile/own_memory.hpp"

namespace profkit::detail {

/// `fmt::vformat` for results that may be large.
inline own_string own_vformat(fmt::string_view text, fmt::format_args arguments) {
  fmt::basic_memory_buffer<char, fmt::inline_buffer_size, block_allocator<char>> buffer;
  fmt::vformat_to(std::back_inserter(buffer), text, arguments);
  return own_string(buffer.data(), buffer.size());
}

/// `fmt::format` for results that may be large.
template <class... Arguments>
own_string own_format(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return own_vformat(text, fmt::make_format_args(arguments...));
}

}  // namespace profkit::detail
