// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "../analyze/summary.hpp"
#include "document.hpp"
#include "sentence_numbers.hpp"

// Findings about memory.

namespace profkit::detail {

/// The largest known usage of a memory source.
inline std::uint64_t max_bytes(memory_summary const& memory) { return std::max(memory.peak_bytes.value_or(0), memory.max_sample_bytes); }

/// (e) Memory that is nearly full: at least 90 % of the device.
inline std::optional<finding> memory_finding(summary const& all) {
  constexpr double nearly_full = 0.9;
  for (memory_summary const& each : all.memory) {
    auto const used = static_cast<double>(max_bytes(each));
    auto const capacity = static_cast<double>(each.capacity_bytes.value_or(0));
    if (capacity <= 0.0 || used < nearly_full * capacity) continue;
    return finding{"Memory is nearly full.",
                   fmt::format("{}: {} of {} ({}).", name_words(each.source + " " + each.quantity), bytes_words(used),
                               bytes_words(capacity), share_words(used / capacity)),
                   all.allocators.empty() ? "Find the scopes that need it (memory=scopes) before you raise the batch size."
                                          : "The section Memory has the scopes that need most of it.",
                   {}};
  }
  return std::nullopt;
}

}  // namespace profkit::detail
