// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "../../document.hpp"
#include "../../summary.hpp"
#include "../profile/own_memory.hpp"
#include "numbers.hpp"

// Tables of scopes over all measured steps: one row per path, or one row per name.

namespace profkit::detail {

/// Whether any scope was timed between CUDA events.
inline bool has_gpu_events(summary const& all) {
  return std::any_of(all.scopes.begin(), all.scopes.end(), [](scope_summary const& row) { return row.gpu_events.has_value(); });
}

/// The tree of scopes with host time, and GPU time between CUDA events: the content of `scopes.csv`.
inline data_table scope_table(summary const& all) {
  data_table result = text_list("scopes", "All scopes");
  constexpr column_kind ms = column_kind::milliseconds;
  result.columns = {{"scope"},
                    {"count", column_kind::count},
                    {"host total", ms},
                    {"mean", ms},
                    {"std", ms},
                    {"p50", ms},
                    {"p95", ms},
                    {"p99", ms},
                    {"self", ms},
                    {"of parent", column_kind::share},
                    {"of steps", column_kind::share}};
  column_use const use = has_gpu_events(all) ? column_use::always : column_use::file;
  for (char const* const each : {"GPU total", "GPU mean", "GPU p50", "GPU p95", "GPU p99"}) result.columns.push_back({each, ms, use});
  for (scope_summary const& row : all.scopes) {
    duration_summary const& host = row.host;
    duration_summary const gpu = row.gpu_events.value_or(duration_summary{});
    std::optional<milliseconds> const gpu_total = row.gpu_events ? std::optional{gpu.total} : std::nullopt;
    own_vector<cell> cells{text_cell(row.name), count_cell(host.count), number_cell(host.total.count())};
    for (auto const& each : {host.mean, host.standard_deviation, host.median, host.p95, host.p99}) cells.push_back(ms_cell(each, ""));
    cells.push_back(number_cell(row.host_self.count()));
    for (auto const& each : {row.share_of_parent, row.share_of_steps}) cells.push_back(number_cell(each, ""));
    for (auto const& each : {gpu_total, gpu.mean, gpu.median, gpu.p95, gpu.p99}) cells.push_back(ms_cell(each, ""));
    result.rows.push_back(row_at(row.depth, std::move(cells)));
  }
  return result;
}

/// Columns of `add_gpu_work`.
inline own_vector<column> gpu_work_columns() {
  return {{"operations", column_kind::count},
          {"kernel", column_kind::milliseconds, column_use::always, "sum of the operations launched in the scopes or inside them"},
          {"self", column_kind::milliseconds, column_use::always, "sum of the operations launched in the scopes themselves"},
          {"busy", column_kind::milliseconds, column_use::always, "time with at least one of these operations"},
          {"span", column_kind::milliseconds, column_use::always, "from the first start to the last end"}};
}

inline void add_gpu_work(own_vector<cell>& cells, std::optional<gpu_work_summary> const& work) {
  if (!work) {
    cells.resize(cells.size() + 5);
    return;
  }
  cells.push_back(count_cell(work->operations));
  for (milliseconds const each : {work->kernel_time, work->kernel_self, work->busy, work->span.total})
    cells.push_back(number_cell(each.count()));
}

/// GPU work by scope, including inner scopes, in tree order. Empty if kernels were not collected.
inline data_table gpu_scope_table(summary const& all) {
  data_table result = text_list("gpu_scopes", "GPU work by scope");
  constexpr column_kind ms = column_kind::milliseconds;
  result.columns = {{"scope"}};
  for (column& each : gpu_work_columns()) result.columns.push_back(std::move(each));
  for (char const* const each : {"span p50", "span p95", "span p99"}) result.columns.push_back({each, ms});
  for (char const* const each : {"latency mean", "latency p95"}) result.columns.push_back({each, column_kind::duration});
  for (char const* const each : {"idle", "idle self"}) result.columns.push_back({each, ms});
  for (scope_summary const& row : all.scopes) {
    if (!row.gpu) continue;
    own_vector<cell> cells{text_cell(row.name)};
    add_gpu_work(cells, row.gpu);
    duration_summary const& span = row.gpu->span;
    for (auto const& each : {span.median, span.p95, span.p99, row.gpu->latency_mean, row.gpu->latency_p95})
      cells.push_back(ms_cell(each, ""));
    cells.push_back(row.gpu_idle ? number_cell(row.gpu_idle->inclusive.count()) : missing_cell(""));
    cells.push_back(row.gpu_idle ? number_cell(row.gpu_idle->self.count()) : missing_cell(""));
    result.rows.push_back(row_at(row.depth, std::move(cells)));
  }
  return result;
}

/// Host and GPU time by scope name, merged over the tree. Its GPU columns are n/a if kernels were not collected.
inline data_table name_table(summary const& all) {
  data_table result = folded_list("names", "By name");
  result.columns = {{"name"}, {"count", column_kind::count}, {"host total", column_kind::milliseconds}};
  for (column& each : gpu_work_columns()) result.columns.push_back(std::move(each));
  result.columns.push_back({"idle", column_kind::milliseconds});
  for (scope_name_summary const& row : all.names) {
    own_vector<cell> cells{text_cell(row.name), count_cell(row.host.count), number_cell(row.host.total.count())};
    add_gpu_work(cells, row.gpu);
    cells.push_back(row.gpu_idle ? number_cell(row.gpu_idle->inclusive.count()) : missing_cell(""));
    result.rows.push_back(row_at(0, std::move(cells)));
  }
  return result;
}

/// The work of adopting scopes for each scope, compared with the scope's own work.
inline data_table adopted_table(summary const& all) {
  data_table result = text_list("adopted", "Work done for scopes elsewhere");
  constexpr column_kind ms = column_kind::milliseconds;
  result.columns = {{"scope"},    {"role"},       {"own host", ms}, {"own kernel", ms}, {"count", column_kind::count},
                    {"host", ms}, {"kernel", ms}, {"busy", ms},     {"kernel / own"}};
  result.columns.back().kind = column_kind::real;
  for (adopted_summary const& each : all.adopted) {
    std::optional<std::string> const ratio = each.kernel_ratio ? std::optional{fmt::format("{:.2f}", *each.kernel_ratio)} : std::nullopt;
    result.rows.push_back(
        row_at(each.depth, {text_cell(each.name), text_cell(each.role), ms_cell(each.own_host_total, ""), ms_cell(each.own_kernel_time, ""),
                            count_cell(each.count), ms_cell(each.host_total, ""), ms_cell(each.kernel_time, ""), ms_cell(each.busy, ""),
                            ratio ? text_cell(*ratio) : missing_cell("")}));
  }
  return result;
}

/// The explanation below the table.
inline constexpr char const* adopted_note =
    "own: work in the scope and inside it, without adopting scopes there\n"
    "count, host, kernel, busy: adopting scopes that work for the scope or for a scope inside it, without other adopting scopes in them\n";

}  // namespace profkit::detail
