// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <profkit/summary.hpp>
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

/// The ratio of two cells; n/a if one is n/a, or if the second is 0.
[[nodiscard]] inline std::string ratio(std::string const& first, std::string const& second) {
  if (first == not_measured || second == not_measured || std::stod(second) <= 0.0) return not_measured;
  return fmt::format("{:.2f}", std::stod(first) / std::stod(second));
}

[[nodiscard]] inline std::string percent(std::optional<milliseconds> part, std::optional<milliseconds> whole) {
  if (!part || !whole || whole->count() <= 0.0) return not_measured;
  return fmt::format("{:.1f} %", 100.0 * (*part / *whole));
}

/// @param count number of steps; n/a if 0.
[[nodiscard]] inline std::optional<milliseconds> per(std::uint64_t count, std::optional<milliseconds> total) {
  if (!total || count == 0) return std::nullopt;
  return *total / static_cast<double>(count);
}

/// The reason why a run has no kernels.
[[nodiscard]] inline std::string why_no_kernels(profkit::summary const& summary) {
  for (profkit::collector_record const& each : summary.collectors) {
    if (each.kind == profkit::collector_kind::kernels && !each.reason.empty())
      return fmt::format("GPU kernels: not collected ({}).", each.reason);
  }
  return "GPU kernels: not collected (no GPU).";
}

}  // namespace trainer
