// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace profkit::detail {

/// An integer that is wide enough for the sum of the squares of durations with a total of 292 years.
__extension__ using wide_integer = __int128;

/// Whether T is an arithmetic type or `wide_integer`, which is an arithmetic type only with GNU extensions.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_same_v<T, wide_integer>;

/// Whether T is signed. Equal with and without GNU extensions, because files depend on it.
template <class T>
inline constexpr bool is_signed_number = std::is_signed_v<T> || std::is_same_v<T, wide_integer>;
static_assert(is_signed_number<wide_integer>);

}  // namespace profkit::detail
