// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "cells.hpp"

// Tables of memory by scope and by allocator.

namespace profkit::detail {

/// The rows with memory of the allocator, and their parents.
inline own_vector<bool> rows_with_memory(summary const& summary, std::size_t allocator) {
  own_vector<bool> result(summary.scopes.size());
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

/// Memory cells of a scope and an allocator: peaks of one scope, then means over the scopes.
inline own_vector<cell> memory_cells(scope_summary const& scope, std::size_t allocator) {
  if (scope.memory.empty()) return own_vector<cell>(7);
  scope_memory_summary const& memory = scope.memory[allocator];
  auto const scopes = static_cast<double>(scope.host.count);
  auto const each = [&](auto sum) { return number_cell(static_cast<double>(sum) / scopes); };
  return {count_cell(memory.peak_bytes),
          count_cell(memory.own_peak_bytes),
          each(memory.retained_bytes),
          each(memory.own_retained_bytes),
          memory.allocated_bytes ? each(*memory.allocated_bytes) : missing_cell("the allocator is polled"),
          memory.allocations ? each(*memory.allocations) : missing_cell("the allocator is polled"),
          count_cell(memory.wide_peak_bytes)};
}

inline std::string shown_source(allocator_summary const& allocator) {
  return allocator.is_polled ? allocator.source + " (polled)" : allocator.source;
}

/// Memory by scope and allocator, for scopes with allocations: the content of `scope_memory.csv`.
inline data_table scope_memory_table(summary const& all) {
  data_table result = text_list("scope_memory", "Memory by scope");
  constexpr column_kind bytes = column_kind::bytes;
  result.columns = {{"scope"}, {"memory of"}};
  for (char const* const each : {"peak", "own peak", "retained", "own retained", "allocated"}) result.columns.push_back({each, bytes});
  result.columns.push_back({"allocations", column_kind::count});
  result.columns.push_back({"all of it, peak", bytes});
  for (std::size_t allocator = 0; allocator < all.allocators.size(); ++allocator) {
    own_vector<bool> const is_shown = rows_with_memory(all, allocator);
    for (std::size_t i = 0; i < is_shown.size(); ++i) {
      if (!is_shown[i]) continue;
      own_vector<cell> cells = memory_cells(all.scopes[i], allocator);
      cells.insert(cells.begin(), {text_cell(all.scopes[i].name), text_cell(shown_source(all.allocators[allocator]))});
      result.rows.push_back(row_at(all.scopes[i].depth, std::move(cells)));
    }
  }
  return result;
}

/// The explanation below the table.
inline constexpr char const* scope_memory_note =
    "peak: maximum that one scope held at once of the memory allocated in it and inside it (own: in the scope itself)\n"
    "retained, allocated, allocations: means per scope; retained memory is still live at the end of the scope\n"
    "all of it, peak: maximum usage of the allocator, by all threads, during one of the scopes\n";
/// The explanation of polled allocators.
inline constexpr char const* polled_memory_note = "polled: read at both ends of scopes; a peak in between is not seen\n";

/// The change of each allocator's usage over the measured steps, by origin.
inline data_table allocator_table(summary const& all) {
  data_table result = folded_list("allocators", "Memory of allocators");
  result.columns = {{"memory of"}};
  for (char const* const each : {"first", "last", "highest", "change in scopes", "outside scopes", "between steps"})
    result.columns.push_back({each, column_kind::bytes});
  for (allocator_summary const& each : all.allocators) {
    // Modulo 2^64, like the sums: an allocator may report any number.
    auto const as_sum = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); };
    std::uint64_t const elsewhere = as_sum(each.outside_change_bytes) + as_sum(each.between_steps_change_bytes);
    auto const in_scopes = static_cast<std::int64_t>(as_sum(each.last_bytes) - as_sum(each.first_bytes) - elsewhere);
    auto const bytes = [](auto number) { return number_cell(static_cast<double>(number)); };
    result.rows.push_back(row_at(0, {text_cell(shown_source(each)), bytes(each.first_bytes), bytes(each.last_bytes), bytes(each.max_bytes),
                                     bytes(in_scopes), bytes(each.outside_change_bytes), bytes(each.between_steps_change_bytes)}));
  }
  return result;
}

inline bool has_polled_memory(summary const& all) {
  return std::any_of(all.allocators.begin(), all.allocators.end(), [](allocator_summary const& each) { return each.is_polled; });
}

}  // namespace profkit::detail
