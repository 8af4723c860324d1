// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profkit {

/// @brief The position of the process in a run of several processes, as its launcher set it: see `process_rank`.
struct rank_record {
  std::uint32_t rank = 0;                     ///< smaller than `size`
  std::uint32_t size = 1;                     ///< number of processes of the run
  std::optional<std::uint32_t> local_rank{};  ///< number of the process on its host; n/a if the launcher does not provide it
  std::uint32_t restart = 0;                  ///< how often the launcher has restarted the run
  std::string launcher{};                     ///< such as "torchrun", "Open MPI", "Slurm"
};

namespace detail {

/// "rank 3 (node17)"; "rank 3" if the host is unknown.
[[nodiscard]] inline std::string rank_name(std::uint32_t rank, std::string const& host) {
  return "rank " + std::to_string(rank) + (host.empty() ? std::string{} : " (" + host + ")");
}

}  // namespace detail

}  // namespace profkit
