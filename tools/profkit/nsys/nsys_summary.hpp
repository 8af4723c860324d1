// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <profkit/impl/analyze/gpu/attribution.hpp>
#include <profkit/impl/analyze/gpu/gpu_summary.hpp>
#include <profkit/impl/analyze/time/measured_time.hpp>
#include <profkit/impl/profile/own_containers.hpp>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/profile.hpp>
#include <string>
#include <utility>

#include "nsys_ranges.hpp"
#include "nsys_statistics.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The figures of the summaries of `nsys stats`, in the same order. Scopes take the place of NVTX ranges. `ranges` covers the
/// measured steps; all other lists cover the measured steps with kernels collected. Source: the report scripts of Nsight Systems 2025.3.1;
/// each list names its script.
struct nsys_summary {
  std::uint64_t process_id = 0;                             ///< process number of the program
  detail::own_vector<nsys_row> ranges;                      ///< nanoseconds; nvtx_pushpop_sum
  std::optional<detail::own_vector<nsys_row>> api;          ///< nanoseconds, n/a unless all API calls were collected; cuda_api_sum
  detail::own_vector<nsys_row> kernels;                     ///< nanoseconds; cuda_gpu_kern_sum
  detail::own_vector<nsys_row> memory_times;                ///< nanoseconds of copies and memsets; cuda_gpu_mem_time_sum
  detail::own_vector<nsys_row> memory_sizes;                ///< bytes of copies and memsets; cuda_gpu_mem_size_sum
  detail::own_vector<nsys_projection_row> projections;      ///< nvtx_gpu_proj_sum
  detail::own_vector<nsys_range_kernel_row> range_kernels;  ///< nvtx_kern_sum
};

namespace detail {

/// Removes a version of four digits: "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
inline std::string nsys_api_name(std::string const& name) {
  return name.size() >= 6 && name.compare(name.size() - 6, 2, "_v") == 0 ? name.substr(0, name.size() - 6) : name;
}

inline detail::own_vector<nsys_row> nsys_api(profile const& profile, measured_time const& when) {
  nsys_groups calls{profile.api_names, [](std::string const& name) { return name; }};
  for (api_call_record const& call : profile.api_calls) {
    if (when.contains(middle_of(call.time))) calls.add(call.name, call.time.duration().count());
  }
  detail::own_vector<nsys_row> result = std::move(calls).rows();
  for (nsys_row& row : result) row.name = nsys_api_name(row.name);
  return result;
}

}  // namespace detail

/// @brief Computes the summaries of `nsys stats`. Takes time proportional to the records and their nesting (n log n if they are out of
/// order).
/// @param profile the profile.
/// @param launched `attribute(profile)`.
/// @return the figures.
[[nodiscard]] inline nsys_summary summarize_like_nsys(profile const& profile, attribution const& launched) {
  detail::measured_time const all{profile};
  detail::measured_time const when = detail::measured_time::with_kernels(profile);
  detail::nsys_view const view{profile, launched, when};
  detail::nsys_groups ranges{profile.paths, detail::nsys_range_name};
  detail::measured_time_cursor in{all};
  for (scope_record const& scope : profile.scopes) {
    if (in.contains(scope.time.begin)) ranges.add(scope.path, scope.time.duration().count());
  }
  auto const name_of = [](gpu_name_record const& each) { return each.name; };
  detail::nsys_groups kernels{profile.gpu_names, nsys_kernel_name};
  detail::own_vector<gpu_name_record> transfers = profile.gpu_names;  // and the migrations of unified memory
  for (char const* const each : detail::page_event_names) transfers.push_back({each, {}});
  detail::nsys_groups memory_times{transfers, name_of};
  detail::nsys_groups memory_sizes{transfers, name_of};
  for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i) {
    gpu_operation_record const& each = profile.gpu_operations[i];
    if (!view.operation_counts[i]) continue;
    if (each.kind == gpu_operation_kind::kernel) {
      kernels.add(each.name, each.time.duration().count());
    } else {
      memory_times.add(each.name, each.time.duration().count());
      memory_sizes.add(each.name, static_cast<std::int64_t>(each.bytes));
    }
  }
  for (page_event_record const& each : profile.page_events) {
    if (each.kind > page_event_kind::between || !when.contains(each.time.begin)) continue;
    auto const name = static_cast<std::uint32_t>(profile.gpu_names.size() + static_cast<std::size_t>(each.kind));
    memory_times.add(name, each.time.duration().count());
    memory_sizes.add(name, static_cast<std::int64_t>(each.amount));
  }
  nsys_summary result;
  result.process_id = profile.environment.process_id;
  result.ranges = std::move(ranges).rows();
  if (profile.has_all_api_calls) result.api = detail::nsys_api(profile, when);
  result.kernels = std::move(kernels).rows();
  // Only this summary sorts equal totals by fewer instances first.
  detail::own_stable_sort(result.kernels.begin(), result.kernels.end(), [](nsys_row const& a, nsys_row const& b) {
    return a.samples.total != b.samples.total ? a.samples.total > b.samples.total : a.samples.count < b.samples.count;
  });
  result.memory_times = std::move(memory_times).rows();
  result.memory_sizes = std::move(memory_sizes).rows();
  result.projections = detail::nsys_projections(view);
  result.range_kernels = detail::nsys_range_kernels(view);
  return result;
}

/// @brief Computes the summaries of `nsys stats`; computes the attribution.
[[nodiscard]] inline nsys_summary summarize_like_nsys(profile const& profile) { return summarize_like_nsys(profile, attribute(profile)); }

}  // namespace PROFKIT_NAMESPACE
