// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

#include "../../time.hpp"
#include "../profile/finite.hpp"

namespace profkit::detail {

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
