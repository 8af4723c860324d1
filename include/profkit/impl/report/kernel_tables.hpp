// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "cells.hpp"
#include "number_format.hpp"
#include "sentence_numbers.hpp"

// Lists of GPU operations and API calls over all measured steps.

namespace profkit::detail {

/// The columns of `times_cells`. @param first headings of the preceding columns.
inline own_vector<column> times_columns(own_vector<column> first) {
  first.push_back({"count", column_kind::count});
  first.push_back({"total", column_kind::milliseconds});
  for (char const* const each : {"mean", "median", "min", "max", "std"}) first.push_back({each, column_kind::duration});
  return first;
}

inline void add_times(own_vector<cell>& cells, duration_summary const& times) {
  cells.push_back(count_cell(times.count));
  cells.push_back(number_cell(times.total.count()));
  for (auto const& each : {times.mean, times.median, times.min, times.max, times.standard_deviation}) cells.push_back(ms_cell(each, ""));
}

/// All kernels with complete names: the content of `kernels.csv`. Text prints the 20 longest.
inline data_table kernel_table(gpu_summary const& gpu) {
  constexpr std::size_t listed = 20;
  data_table result = text_list("kernels", "All kernels");
  result.columns = times_columns({{"kernel", column_kind::code}, {"class"}});
  result.columns.push_back({"of all kernels", column_kind::share});
  milliseconds rest{};
  for (kernel_summary const& each : gpu.kernels) {
    own_vector<cell> cells{text_cell(each.name), text_cell(each.kernel_class)};
    add_times(cells, each.time);
    cells.push_back(number_cell(each.share, ""));
    if (result.rows.size() >= listed) rest += each.time.total;
    result.rows.push_back(row_at(0, std::move(cells)));
  }
  result.listed_rows = listed;
  if (result.rows.size() > listed)
    result.folded_label = fmt::format("and {} more with {} ms, in kernels.csv", result.rows.size() - listed, format_ms(rest));
  return result;
}

/// Kernels by class.
inline data_table class_table(gpu_summary const& gpu) {
  data_table result = folded_list("kernel_classes", "Kernel classes");
  result.columns = {
      {"class"}, {"kernels", column_kind::count}, {"total", column_kind::milliseconds}, {"of all kernels", column_kind::share}};
  for (kernel_class_summary const& each : gpu.classes) {
    result.rows.push_back(
        row_at(0, {text_cell(each.name), count_cell(each.count), number_cell(each.total.count()), number_cell(each.share, "")}));
  }
  return result;
}

/// Copies by direction, and memsets.
inline data_table copy_table(gpu_summary const& gpu) {
  data_table result = folded_list("copies", "Copies and memsets");
  result.columns = times_columns({{"copy or memset"}});
  result.columns.push_back({"", column_kind::bytes});
  for (copy_summary const& each : gpu.copies) {
    own_vector<cell> cells{text_cell(each.name)};
    add_times(cells, each.time);
    cells.push_back(count_cell(each.bytes));
    result.rows.push_back(row_at(0, std::move(cells)));
  }
  return result;
}

/// API calls by name. Empty unless all API calls were collected.
inline data_table api_table(gpu_summary const& gpu) {
  data_table result = folded_list("api_calls", "API calls");
  result.columns = times_columns({{"API call"}});
  if (!gpu.api) return result;
  for (api_summary const& each : *gpu.api) {
    own_vector<cell> cells{text_cell(each.name)};
    add_times(cells, each.time);
    result.rows.push_back(row_at(0, std::move(cells)));
  }
  return result;
}

/// Totals of all operations.
inline std::string operations_words(gpu_summary const& gpu) {
  std::string const steps = gpu.steps > 0 ? fmt::format(" in {}", counted(gpu.steps, "measured step", "measured steps")) : std::string{};
  return fmt::format("GPU{}: {} operations, {} of them kernels; {} in all, busy for {}.", steps, count_words(gpu.all.operations),
                     count_words(gpu.all.kernels), time_words(gpu.all.kernel_time), time_words(gpu.all.busy));
}

}  // namespace profkit::detail
