// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit::detail {

// Classifies doubles by their bits (IEEE 754), because with -ffast-math the compiler assumes that `std::isfinite` is true.

inline constexpr std::uint64_t infinity_bits = std::uint64_t{0x7ff} << 52U;

[[nodiscard]] inline std::uint64_t bits_of(double value) noexcept {
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

[[nodiscard]] inline bool is_negative(double value) noexcept { return bits_of(value) >> 63U != 0; }
[[nodiscard]] inline bool is_nan(double value) noexcept { return (bits_of(value) & ~(std::uint64_t{1} << 63U)) > infinity_bits; }

/// Neither infinite nor NaN.
[[nodiscard]] inline bool is_finite(double value) noexcept { return (bits_of(value) & infinity_bits) != infinity_bits; }

/// An amount given by the program; 0 if it is negative, infinite or NaN.
[[nodiscard]] inline double amount_or_zero(double value) noexcept { return is_finite(value) && value > 0.0 ? value : 0.0; }

}  // namespace profkit::detail
