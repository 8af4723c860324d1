// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "../../document.hpp"
#include "numbers.hpp"
#include "report_view.hpp"

// The section "Counters": values that the program recorded.

namespace profkit::detail {

/// A row for each counter.
inline data_table counter_table(summary const& all) {
  data_table result;
  result.name = "counters";
  result.has_fixed_units = true;
  result.columns = {{"counter"}, {"samples", column_kind::count}};
  for (char const* const each : {"last", "mean", "min", "max"}) result.columns.push_back({each, column_kind::real});
  result.columns.push_back({"not finite", column_kind::count});
  for (counter_summary const& each : all.counters) {
    result.rows.push_back(row_at(0, {text_cell(each.name), count_cell(each.count), number_cell(each.last), number_cell(each.mean),
                                     number_cell(each.min), number_cell(each.max), count_cell(each.not_finite)}));
  }
  return result;
}

/// @return n/a without counters.
inline std::optional<section> counters_section(report_view const& view) {
  if (view.all.counters.empty()) return std::nullopt;
  section result;
  result.id = "counters";
  result.title = "Counters";
  result.answer = counted(view.all.counters.size(), "counter of the program.", "counters of the program.");
  result.blocks.emplace_back(counter_table(view.all));
  return result;
}

}  // namespace profkit::detail
