// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <profkit/csv_printer.hpp>
#include <profkit/error.hpp>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/profile/atomic_file.hpp>
#include <profkit/impl/profile/file_access.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/profile.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "nsys_summary.hpp"

namespace PROFKIT_NAMESPACE {

namespace detail {

/// Rounds like SQLite's `round(x, 1)`: halves away from zero.
inline std::string nsys_round(double value) { return fmt::format("{:.1f}", std::round(value * 10.0) / 10.0); }

inline std::string nsys_megabytes(double bytes) { return fmt::format("{:.3f}", bytes / 1e6); }

/// Empty if all rows are 0, as in Nsight Systems.
inline std::string nsys_share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "" : nsys_round(static_cast<double>(part) * 100.0 / static_cast<double>(whole));
}

template <class Number>
std::string nsys_cell(std::optional<Number> const& value) {
  return value ? fmt::format("{}", *value) : "";
}

/// Appends Avg, Med, Min, Max and StdDev in nanoseconds.
inline void append_times(detail::own_vector<std::string>& cells, nsys_statistics const& statistics) {
  cells.insert(cells.end(), {nsys_round(statistics.mean), nsys_round(statistics.median), fmt::format("{}", statistics.min),
                             fmt::format("{}", statistics.max), nsys_round(statistics.standard_deviation)});
}

inline own_string nsys_time_csv(detail::own_vector<nsys_row> const& rows, char const* count_heading, char const* name_heading) {
  own_string result =
      csv_line({"Time (%)", "Total Time (ns)", count_heading, "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", name_heading});
  std::int64_t total = 0;
  for (nsys_row const& row : rows) total += row.samples.total;
  for (nsys_row const& row : rows) {
    detail::own_vector<std::string> cells{nsys_share(row.samples.total, total), fmt::format("{}", row.samples.total),
                                          fmt::format("{}", row.samples.count)};
    append_times(cells, row.samples);
    cells.push_back(row.name);
    result += csv_line(cells);
  }
  return result;
}

inline own_string nsys_size_csv(detail::own_vector<nsys_row> const& rows) {
  own_string result = csv_line({"Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)", "Operation"});
  for (nsys_row const& row : rows) {
    nsys_statistics const& statistics = row.samples;
    result +=
        csv_line({nsys_megabytes(static_cast<double>(statistics.total)), fmt::format("{}", statistics.count),
                  nsys_megabytes(statistics.mean), nsys_megabytes(statistics.median), nsys_megabytes(static_cast<double>(statistics.min)),
                  nsys_megabytes(static_cast<double>(statistics.max)), nsys_megabytes(statistics.standard_deviation), row.name});
  }
  return result;
}

inline own_string nsys_projection_csv(detail::own_vector<nsys_projection_row> const& rows) {
  own_string result =
      csv_line({"Range", "Style", "Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances", "Proj Avg (ns)", "Proj Med (ns)",
                "Proj Min (ns)", "Proj Max (ns)", "Proj StdDev (ns)", "Total GPU Ops", "Avg GPU Ops", "Avg Range Lvl", "Avg Num Child"});
  for (nsys_projection_row const& row : rows) {
    auto const per_range = [&](std::uint64_t sum) {
      return nsys_round(static_cast<double>(sum) / static_cast<double>(row.projected.count));
    };
    detail::own_vector<std::string> cells{row.range, "PushPop", fmt::format("{}", row.projected.total), fmt::format("{}", row.range_time),
                                          fmt::format("{}", row.projected.count)};
    append_times(cells, row.projected);
    cells.insert(cells.end(),
                 {fmt::format("{}", row.operations), per_range(row.operations), per_range(row.levels), per_range(row.children)});
    result += csv_line(cells);
  }
  return result;
}

inline own_string nsys_range_kernel_csv(nsys_summary const& nsys) {
  own_string result = csv_line({"NVTX Range", "Style", "PID", "TID", "NVTX Inst", "Kern Inst", "Total Time (ns)", "Avg (ns)", "Med (ns)",
                                "Min (ns)", "Max (ns)", "StdDev (ns)", "Kernel Name"});
  for (nsys_range_kernel_row const& row : nsys.range_kernels) {
    detail::own_vector<std::string> cells{row.range.value_or(""),
                                          row.range ? "PushPop" : "",
                                          row.thread ? fmt::format("{}", nsys.process_id) : "",
                                          nsys_cell(row.thread),
                                          fmt::format("{}", row.ranges),
                                          fmt::format("{}", row.kernels),
                                          fmt::format("{}", row.time.total)};
    append_times(cells, row.time);
    cells.push_back(row.kernel);
    result += csv_line(cells);
  }
  return result;
}

}  // namespace detail

/// @brief The summaries of `nsys stats --format csv`, with the same headings, units, order and rounding. Names are quoted as in RFC 4180.
/// @param nsys `summarize_like_nsys` of a profile.
/// @param has_kernels whether kernels were collected. If not, only the summary of ranges is returned.
/// @return the files.
[[nodiscard]] inline detail::own_vector<detail::named_csv> nsys_csv(nsys_summary const& nsys, bool has_kernels) {
  detail::own_vector<detail::named_csv> result{{"nvtx_pushpop_sum.csv", detail::nsys_time_csv(nsys.ranges, "Instances", "Range")}};
  if (!has_kernels) return result;
  if (nsys.api) result.push_back({"cuda_api_sum.csv", detail::nsys_time_csv(*nsys.api, "Num Calls", "Name")});
  result.push_back({"cuda_gpu_kern_sum.csv", detail::nsys_time_csv(nsys.kernels, "Instances", "Name")});
  result.push_back({"cuda_gpu_mem_time_sum.csv", detail::nsys_time_csv(nsys.memory_times, "Count", "Operation")});
  result.push_back({"cuda_gpu_mem_size_sum.csv", detail::nsys_size_csv(nsys.memory_sizes)});
  result.push_back({"nvtx_gpu_proj_sum.csv", detail::nsys_projection_csv(nsys.projections)});
  result.push_back({"nvtx_kern_sum.csv", detail::nsys_range_kernel_csv(nsys)});
  return result;
}

/// @brief Writes the files of `nsys_csv` into a folder, which is created. Files with these names are replaced.
/// @return their names.
/// @throws profkit::error that names the folder or the file, and the reason.
inline std::vector<std::string> write_nsys_csv(profile const& profile, attribution const& launched, bool has_kernels,
                                               std::filesystem::path const& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  if (failure)
    throw error{"cannot create the directory " + detail::shown_path(directory.string()) + ": " + failure.message(), failure.value()};
  std::vector<std::string> names;
  for (detail::named_csv const& each : nsys_csv(summarize_like_nsys(profile, launched), has_kernels)) {
    detail::write_file(directory / each.name, each.content);
    names.push_back(each.name);
  }
  return names;
}

}  // namespace PROFKIT_NAMESPACE
