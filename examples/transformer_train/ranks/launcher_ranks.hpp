// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <profkit/options.hpp>
#include <profkit/session/process_rank.hpp>
#include <string>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// Which of how many processes this is; one of one without a launcher, and with `PROFKIT=rank=off`.
/// @throws input_error if torchrun's variables are no rank: as one process each, the ranks would train apart from each other.
[[nodiscard]] inline rank_layout ranks_of_launcher(profkit::options const& options) {
  if (!options.use_rank) return {};
  if (auto const found = profkit::process_rank()) return {found->rank, found->size, found->local_rank.value_or(found->rank)};
  char const* const rank = ::secure_getenv("RANK");
  char const* const size = ::secure_getenv("WORLD_SIZE");
  if (rank == nullptr || size == nullptr) return {};
  throw input_error{std::string{"RANK="} + rank + " and WORLD_SIZE=" + size +
                    ": are not a rank and a larger number of ranks; start the ranks with a launcher such as torchrun"};
}

}  // namespace trainer
