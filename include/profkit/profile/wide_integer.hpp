// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace profkit::detail {

/// Holds the sum of the squares of all durations that together last at most 292 years.
__extension__ using wide_integer = __int128;

/// Whether T is an arithmetic type or `wide_integer`, which is one only where the compiler has GNU extensions on.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_same_v<T, wide_integer>;

/// Whether T is signed. The same with and without GNU extensions, so that files do not depend on them.
template <class T>
inline constexpr bool is_signed_number = std::is_signed_v<T> || std::is_same_v<T, wide_integer>;
static_assert(is_signed_number<wide_integer>);

}  // namespace profkit::detail
