// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "table.hpp"

namespace profkit {

namespace detail {

inline std::string signed_mib(std::int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1024.0 * 1024.0)); }

/// The mean of one scope, if `bytes` are the sum over `scopes`.
inline std::string mib_each(std::int64_t bytes, std::uint64_t scopes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1024.0 * 1024.0) / static_cast<double>(scopes));
}

/// The rows with memory of the allocator, and their parents.
inline std::vector<bool> rows_with_memory(summary const& summary, std::size_t allocator) {
  std::vector<bool> result(summary.scopes.size());
  for (std::size_t row = result.size(); row-- > 0;) {
    scope_summary const& scope = summary.scopes[row];
    if (!scope.memory.empty()) {
      scope_memory_summary const& memory = scope.memory[allocator];
      if (memory.peak_bytes > 0 || memory.retained_bytes != 0) result[row] = true;
    }
    if (result[row] && scope.parent) result[*scope.parent] = true;
  }
  return result;
}

inline std::vector<std::string> memory_cells(scope_summary const& scope, std::size_t allocator) {
  if (scope.memory.empty()) return std::vector<std::string>(7, not_measured);
  scope_memory_summary const& memory = scope.memory[allocator];
  std::uint64_t const scopes = scope.host.count;
  return {format_mib(memory.peak_bytes),
          format_mib(memory.own_peak_bytes),
          mib_each(memory.retained_bytes, scopes),
          mib_each(memory.own_retained_bytes, scopes),
          memory.allocated_bytes ? mib_each(static_cast<std::int64_t>(*memory.allocated_bytes), scopes) : not_measured,
          memory.allocations ? fmt::format("{:.1f}", static_cast<double>(*memory.allocations) / static_cast<double>(scopes)) : not_measured,
          format_mib(memory.wide_peak_bytes)};
}

inline std::string shown_source(allocator_summary const& allocator) {
  return allocator.is_polled ? allocator.source + " (polled)" : allocator.source;
}

}  // namespace detail

/// @brief Memory by scope and allocator, in MiB, for scopes with allocations.
/// @param summary the figures.
/// @return the table; empty if no allocator was observed.
[[nodiscard]] inline table scope_memory_table(summary const& summary) {
  table result{{"scope", "memory of", "peak MiB", "own peak MiB", "retained MiB", "own retained MiB", "allocated MiB", "allocations",
                "all of it, peak MiB"},
               2};
  for (std::size_t allocator = 0; allocator < summary.allocators.size(); ++allocator) {
    std::vector<bool> const is_shown = detail::rows_with_memory(summary, allocator);
    for (std::size_t row = 0; row < is_shown.size(); ++row) {
      if (!is_shown[row]) continue;
      std::vector<std::string> cells = detail::memory_cells(summary.scopes[row], allocator);
      cells.insert(cells.begin(), {std::string(std::size_t{2} * summary.scopes[row].depth, ' ') + summary.scopes[row].name,
                                   detail::shown_source(summary.allocators[allocator])});
      result.add(std::move(cells));
    }
  }
  return result;
}

/// @brief The note below the table.
inline constexpr char const* scope_memory_note =
    "peak: most that one scope had at once of what was allocated in it and inside it (own: in it alone), so over its start; retained,\n"
    "allocated, allocations: of that, a scope on average, retained at its end; all of it: given to any thread while one of the scopes was "
    "open\n";
/// @brief The note if an allocator was polled.
inline constexpr char const* polled_memory_note = "polled: read at both ends of scopes; a peak in between is not seen\n";

/// @brief The change of each allocator's usage over the measured steps, by origin, in MiB.
/// @param summary the figures.
/// @return a row per allocator.
[[nodiscard]] inline table allocator_table(summary const& summary) {
  table result{{"memory of", "first MiB", "last MiB", "highest MiB", "change in scopes", "outside scopes", "between steps"}};
  for (allocator_summary const& each : summary.allocators) {
    // Modulo 2^64, like the sums: an allocator may report any number.
    auto const as_sum = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); };
    std::uint64_t const elsewhere = as_sum(each.outside_change_bytes) + as_sum(each.between_steps_change_bytes);
    auto const in_scopes = static_cast<std::int64_t>(as_sum(each.last_bytes) - as_sum(each.first_bytes) - elsewhere);
    result.add({detail::shown_source(each), detail::signed_mib(each.first_bytes), detail::signed_mib(each.last_bytes),
                detail::format_mib(each.max_bytes), detail::signed_mib(in_scopes), detail::signed_mib(each.outside_change_bytes),
                detail::signed_mib(each.between_steps_change_bytes)});
  }
  return result;
}

namespace detail {

inline bool has_polled_memory(summary const& summary) {
  return std::any_of(summary.allocators.begin(), summary.allocators.end(), [](allocator_summary const& each) { return each.is_polled; });
}

}  // namespace detail
}  // namespace profkit
