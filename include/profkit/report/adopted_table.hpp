// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "../analyze/summary.hpp"
#include "number_format.hpp"
#include "table.hpp"

namespace profkit {

/// @brief The work of adopting scopes for each scope, beside the scope's own work. Times in milliseconds.
/// @param summary the figures.
/// @return the table; empty if no scope adopted another.
[[nodiscard]] inline table adopted_table(summary const& summary) {
  table result{{"scope", "role", "own host ms", "own kernel ms", "count", "host ms", "kernel ms", "busy ms", "kernel / own"}, 2};
  for (adopted_summary const& row : summary.adopted) {
    result.add({std::string(std::size_t{2} * row.depth, ' ') + row.name, row.role, detail::format_ms(row.own_host_total),
                detail::format_ms(row.own_kernel_time), fmt::format("{}", row.count), detail::format_ms(row.host_total),
                detail::format_ms(row.kernel_time), detail::format_ms(row.busy),
                row.kernel_ratio ? fmt::format("{:.2f}", *row.kernel_ratio) : detail::not_measured});
  }
  return result;
}

/// @brief The note below the table.
inline constexpr char const* adopted_note =
    "own: in the scope and inside it, but not in scopes that work for another; count, host, kernel, busy: of the scopes that work for it "
    "or\n"
    "for one inside it, each without those in it that work for another\n";

}  // namespace profkit
