// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <profkit/impl/profile/own_memory.hpp>
#include <profkit/impl/profile/record_types.hpp>
#include <profkit/profile.hpp>
#include <profkit/summary.hpp>
#include <string>
#include <utility>

namespace PROFKIT_NAMESPACE {

/// @brief The data of one rank from which the report of many ranks is computed.
struct job_rank {
  std::uint32_t rank = 0;                               ///< rank number in the job, from 0
  std::string source;                                   ///< name of the file
  std::string problem;                                  ///< why the rank cannot be used; empty if it can
  bool is_read = true;                                  ///< false: its file could not be read
  environment_record environment;                       ///< its machine and process
  detail::own_vector<clock_summary> clocks;             ///< by device
  detail::own_vector<utilization_summary> utilization;  ///< by device
  std::optional<host_samples_summary> host_samples;     ///< n/a without host samples
  std::uint64_t measured_steps = 0;                     ///< number of measured steps of the whole run
  rank_timeline timeline;                               ///< its steps and collectives

  /// @brief "rank 3 (node17)"; "rank 3" if the host is unknown.
  [[nodiscard]] std::string name() const { return detail::rank_name(rank, environment.host); }
};

namespace detail {

/// The machine of a rank. Containers of one machine may have different host names but share its clock.
inline std::string const& machine_of(job_rank const& rank) {
  return rank.environment.boot_id.empty() ? rank.environment.host : rank.environment.boot_id;
}

/// Explains why a rank has no collectives to compare.
/// @param has_all_api_calls whether all API calls were collected.
inline std::string why_no_collectives(rank_timeline const& timeline, bool has_all_api_calls) {
  if (timeline.unknown_collectives == 0) return "it has no collectives in its steps";
  std::string const kernels = "its " + std::to_string(timeline.unknown_collectives) + " NCCL kernels ";
  if (timeline.graph_collectives == timeline.unknown_collectives)
    return kernels + "ran in CUDA graphs, and of several communicators it is unknown which one they use";
  if (has_all_api_calls)
    return kernels + "have no collective, because kernel_options::all_api_calls replaces the callbacks that record launches";
  return kernels + "have no collective of the collector";
}

}  // namespace detail

/// @brief Extracts from a summary the data that the report of many ranks needs.
/// @param from the summary of the rank.
/// @param rank its number.
/// @param source the file.
[[nodiscard]] inline job_rank job_rank_of(summary from, std::uint32_t rank, std::string source) {
  job_rank result;
  result.rank = rank;
  result.source = std::move(source);
  result.environment = std::move(from.environment);
  result.clocks = std::move(from.steps.clocks);
  result.utilization = std::move(from.utilization);
  result.host_samples = std::move(from.host_samples);
  result.measured_steps = from.steps.host.count;
  if (from.timeline) result.timeline = std::move(*from.timeline);
  if (result.timeline.collectives.empty()) result.problem = detail::why_no_collectives(result.timeline, from.gpu && from.gpu->api);
  return result;
}

}  // namespace PROFKIT_NAMESPACE
