// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"

namespace profkit::detail {

/// A table of the parts of a whole, with their sum.
/// @param columns columns of the part, its time and its share.
inline data_table parts_table(std::string name, own_vector<column> columns, own_vector<job_part> const& parts, job_part const& whole) {
  data_table result;
  result.name = std::move(name);
  result.columns = std::move(columns);
  auto const add = [&](job_part const& part, double share) {
    row next;
    next.cells = {text_cell(part.name), number_cell(part.time.count()), number_cell(share)};
    result.rows.push_back(std::move(next));
  };
  for (job_part const& each : parts) add(each, whole.time.count() > 0.0 ? each.time / whole.time : 0.0);
  add(whole, 1.0);
  result.rows.back().is_total = true;
  return result;
}

}  // namespace profkit::detail
