// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/find_rank.hpp>
#include <profkit/options.hpp>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// The rank of this process and the number of ranks; 0 of 1 without a launcher, or with `PROFKIT=rank=off`.
/// @throws input_error if the variables of the launcher are invalid: otherwise the ranks would train separately.
[[nodiscard]] inline rank_layout ranks_of_launcher(profkit::options const& options) {
  if (!options.use_rank) return {};
  auto const [found, wrong] = profkit::detail::find_rank();
  if (found) return {found->rank, found->size, found->local_rank.value_or(found->rank)};
  if (wrong.empty()) return {};
  throw input_error{wrong +
                    ": the rank must be a whole number below the number of ranks; start the ranks with a launcher such as torchrun"};
}

}  // namespace trainer
