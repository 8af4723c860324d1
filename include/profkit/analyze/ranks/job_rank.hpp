// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/rank_record.hpp"
#include "../summary.hpp"
#include "rank_timeline.hpp"

namespace profkit {

/// @brief What the report of many ranks takes from the report of one rank.
struct job_rank {
  std::uint32_t rank = 0;
  std::string source;   ///< the file
  std::string problem;  ///< why it cannot be used; empty: it can
  environment_record environment;
  std::vector<clock_summary> clocks;
  std::vector<utilization_summary> utilization;
  std::uint64_t measured_steps = 0;
  rank_timeline timeline;

  /// @brief "rank 3 (node17)"; "rank 3" if the host is unknown.
  [[nodiscard]] std::string name() const { return detail::rank_name(rank, environment.host); }
};

/// @brief Takes from a summary what the report of many ranks needs.
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
  result.measured_steps = from.steps.host.count;
  if (from.timeline) result.timeline = std::move(*from.timeline);
  if (result.timeline.collectives.empty()) result.problem = "it has no collectives in its steps";
  return result;
}

}  // namespace profkit
