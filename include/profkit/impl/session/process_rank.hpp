// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "../profile/record_types.hpp"

namespace profkit {

/// @brief The rank of this process, from the environment variables of torchrun, Open MPI, MPICH, Intel MPI or Slurm.
///
/// Reads the environment at each call. Thread-safe, unless another thread changes the environment. Does not communicate.
/// @return n/a if no launcher set its variables, or if their values are not a rank and a number of ranks.
[[nodiscard]] std::optional<rank_record> process_rank();

}  // namespace profkit
