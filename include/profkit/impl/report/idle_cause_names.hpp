// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "../../summary.hpp"
#include "../../time.hpp"

namespace profkit::detail {

/// The names of `idle_cause` in tables and traces, by value.
inline constexpr std::array<char const*, idle_causes> idle_cause_names{"launch-bound", "host-bound", "synchronisation", "copies", "queued"};

/// Their names in report.json.
inline constexpr std::array<char const*, idle_causes> idle_cause_keys{"launch_bound_ms", "host_bound_ms", "synchronisation_ms", "copies_ms",
                                                                      "queued_ms"};

/// The sum of the idle time of all parts, by cause.
inline std::array<milliseconds, idle_causes> idle_of_all(budget_summary const& budget) {
  std::array<milliseconds, idle_causes> sum{};
  for (budget_row const& row : budget.rows) {
    for (std::size_t cause = 0; cause < idle_causes; ++cause) sum[cause] += row.idle[cause];
  }
  return sum;
}

/// Whether the time of a cause was measured.
inline bool is_known(budget_summary const& budget, std::size_t cause) {
  return budget.has_launches || static_cast<idle_cause>(cause) != idle_cause::launching;
}

}  // namespace profkit::detail
