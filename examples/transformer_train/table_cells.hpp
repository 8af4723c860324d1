// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <profkit/profile/time.hpp>
#include <string>

namespace trainer {

using profkit::milliseconds;

inline constexpr char const* not_measured = "n/a";

[[nodiscard]] inline std::string in_ms(std::optional<milliseconds> time) {
  return time ? fmt::format("{:.3f}", time->count()) : not_measured;
}

[[nodiscard]] inline std::string in_mib(std::optional<std::uint64_t> bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / (1024.0 * 1024.0)) : not_measured;
}

[[nodiscard]] inline std::string percent(std::optional<milliseconds> part, std::optional<milliseconds> whole) {
  if (!part || !whole || whole->count() <= 0.0) return not_measured;
  return fmt::format("{:.1f} %", 100.0 * (*part / *whole));
}

}  // namespace trainer
