// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <profkit/document.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/report/numbers.hpp>
#include <string>
#include <utility>

#include "job_summary.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A table of the parts of a whole, with their sum.
/// @param columns columns of the part, its time and its share.
inline data_table parts_table(std::string name, std::initializer_list<fixed_column> columns, own_vector<job_part> const& parts,
                              job_part const& whole) {
  data_table result{std::move(name)};
  result.add_columns(columns);
  auto const add = [&](job_part const& part, double share) { result.add_row().text(part.name).ms(part.time).number(share); };
  for (job_part const& each : parts) add(each, whole.time.count() > 0.0 ? each.time / whole.time : 0.0);
  add(whole, 1.0);
  result.rows.back().is_total = true;
  return result;
}

}  // namespace PROFKIT_NAMESPACE::detail
