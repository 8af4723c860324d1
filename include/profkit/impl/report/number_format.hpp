// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "../../time.hpp"
#include "../profile/numbers.hpp"
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

inline constexpr char const* not_measured = "n/a";

/// Formats a number given by the program. Handles NaN and infinity before fmt, because with -ffast-math the compiler assumes that they do
/// not exist.
inline std::string format_real(double value) {
  if (is_finite(value)) return fmt::format("{:g}", value);
  return is_nan(value) ? "nan" : is_negative(value) ? "-inf" : "inf";
}

inline std::string format_ms(milliseconds value) { return fmt::format("{:.3f}", value.count()); }

inline std::string format_ms(std::optional<milliseconds> value) { return value ? format_ms(*value) : not_measured; }

/// 0.25 -> "25.0 %"
inline std::string format_share(std::optional<double> value) { return value ? fmt::format("{:.1f} %", 100.0 * *value) : not_measured; }

inline std::string format_count(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : not_measured; }

}  // namespace profkit::detail
