// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit {

/// Arithmetic for which devices have rates of their own. On tensor cores where a device has them for it: `fp32` runs without, `tf32`
/// is what they make of it.
enum class precision : std::uint8_t { unknown = 0, fp64 = 1, fp32 = 2, tf32 = 3, fp16 = 4, bf16 = 5, fp8 = 6 };

inline constexpr char const* precision_names[] = {"unknown", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8"};

/// Such as "bf16".
[[nodiscard]] constexpr char const* name_of(precision of) noexcept { return precision_names[static_cast<std::uint8_t>(of)]; }

/// @return `unknown` if there is none of that name.
template <class Text>
[[nodiscard]] constexpr precision precision_named(Text const& name) noexcept {
  for (std::size_t i = 1; i < sizeof precision_names / sizeof precision_names[0]; ++i) {
    if (name == precision_names[i]) return static_cast<precision>(i);
  }
  return precision::unknown;
}

/// What a scope has to do, counted by the program from its shapes.
struct work {
  double flops = 0.0;                                          ///< floating-point operations, a multiply-add is two; 0: not counted
  double bytes = 0.0;                                          ///< that have to come from or go to the device's memory; 0: not counted
  profkit::precision precision = profkit::precision::unknown;  ///< of the arithmetic; unknown: that of the session (`options::precision`)
  float backward = 0.0F;  ///< times that scopes which adopt this one as "backward" do it again, 2 for matrix products; 0: not known
};

}  // namespace profkit
