// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <profkit/options.hpp>
#include <profkit/session/process_rank.hpp>
#include <string>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// The rank of this process and the number of ranks; 0 of 1 without a launcher, or with `PROFKIT=rank=off`.
/// @throws input_error if the variables of torchrun are invalid: otherwise the ranks would train separately.
[[nodiscard]] inline rank_layout ranks_of_launcher(profkit::options const& options) {
  if (!options.use_rank) return {};
  if (auto const found = profkit::process_rank()) return {found->rank, found->size, found->local_rank.value_or(found->rank)};
  char const* const rank = ::secure_getenv("RANK");
  char const* const size = ::secure_getenv("WORLD_SIZE");
  if (rank == nullptr || size == nullptr) return {};
  throw input_error{std::string{"RANK="} + rank + " and WORLD_SIZE=" + size +
                    ": RANK must be a whole number below WORLD_SIZE; start the ranks with a launcher such as torchrun"};
}

}  // namespace trainer
