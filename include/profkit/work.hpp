// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Declared work: floating-point operations, bytes and precision; sides of messages.

#include <cstdint>

#include "version.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Types of arithmetic with different peak rates. What counts is the arithmetic, not the type of the tensors. Peaks by device:
/// docs/roofline.md.
enum class precision : std::uint8_t {
  unknown = 0,  ///< not declared; the work has no peak
  fp64 = 1,     ///< 64 bits; the peak includes tensor cores
  fp32 = 2,     ///< 32 bits, without tensor cores
  tf32 = 3,     ///< fp32 data on tensor cores, which use 10 bits of the mantissa
  fp16 = 4,     ///< IEEE half precision on tensor cores, with fp32 accumulation
  bf16 = 5,     ///< bfloat16 on tensor cores, with fp32 accumulation
  fp8 = 6,      ///< 8-bit floating point on tensor cores, with fp32 accumulation
};

/// @brief Names of the values of `precision`, in their order.
inline constexpr char const* precision_names[] = {"unknown", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8"};

/// @brief The name of a precision, such as "bf16".
[[nodiscard]] constexpr char const* name_of(precision value) noexcept { return precision_names[static_cast<std::uint8_t>(value)]; }

/// @brief The precision with this name.
/// @param name such as "bf16".
/// @return `unknown` if there is no such name.
template <class Text>
[[nodiscard]] constexpr precision precision_named(Text const& name) noexcept {
  for (std::size_t i = 1; i < sizeof precision_names / sizeof precision_names[0]; ++i) {
    if (name == precision_names[i]) return static_cast<precision>(i);
  }
  return precision::unknown;
}

/// @brief The side of a rank in a message between two ranks.
enum class message_side : std::uint8_t {
  none = 0,     ///< no message: a collective
  send = 1,     ///< the rank sends
  receive = 2,  ///< the rank receives
};

/// @brief The work of a scope, declared by the program, usually computed from shapes.
struct work {
  double flops = 0.0;                                          ///< floating-point operations, a multiply-add counts as two; 0: unknown
  double bytes = 0.0;                                          ///< bytes read from and written to device memory; 0: unknown
  profkit::precision precision = profkit::precision::unknown;  ///< type of arithmetic; unknown: `options::precision`
  float backward = 0.0F;  ///< work of the backward pass as a multiple of this, such as 2 for matrix products; 0: unknown
};

}  // namespace PROFKIT_NAMESPACE
