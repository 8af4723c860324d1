// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>
#include <cstdint>
#include <type_traits>

#include "../../version.hpp"

namespace PROFKIT_NAMESPACE::detail {

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

/// An integer that is wide enough for the sum of the squares of durations with a total of 292 years.
__extension__ using wide_integer = __int128;

/// Whether T is an arithmetic type or `wide_integer`, which is an arithmetic type only with GNU extensions.
template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_same_v<T, wide_integer>;

/// Whether T is signed. Equal with and without GNU extensions, because files depend on it.
template <class T>
inline constexpr bool is_signed_number = std::is_signed_v<T> || std::is_same_v<T, wide_integer>;
static_assert(is_signed_number<wide_integer>);

/// To the end of the block, floating-point operations of this thread round to nearest, and invalid ones give NaN or infinity. The program
/// may have asked for a signal (`feenableexcept`) or another rounding, while its counters and declared work may have any value. Afterwards
/// the thread has its environment again, with the flags from before.
class usual_arithmetic {
 public:
  usual_arithmetic() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  usual_arithmetic(usual_arithmetic const&) = delete;
  usual_arithmetic& operator=(usual_arithmetic const&) = delete;
  ~usual_arithmetic() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

}  // namespace PROFKIT_NAMESPACE::detail
