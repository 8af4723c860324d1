// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// The variables in which a launcher says which process this is.
struct launcher_variables {
  char const* rank;
  char const* size;
  char const* local_rank;
};

/// torchrun; Open MPI; MPICH and Intel MPI; Slurm. The first one that has set rank and size counts.
inline constexpr std::array<launcher_variables, 4> launchers{
    {{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}}};

/// The value of a variable of the environment; nothing if it is not set.
/// @throws input_error if it is not a whole number from 0.
[[nodiscard]] inline std::optional<std::uint32_t> number_in_environment(char const* name) {
  char const* const text = ::secure_getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string_view const value{text};
  std::uint32_t number = 0;
  auto const [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status == std::errc{} && end == value.data() + value.size()) return number;
  throw input_error{std::string{name} + "=" + text + ": is not a whole number from 0; a launcher such as torchrun sets it"};
}

/// Which of how many processes this is; one of one without a launcher.
/// @throws input_error if the variables contradict each other.
[[nodiscard]] inline rank_layout ranks_of_launcher() {
  for (launcher_variables const& each : launchers) {
    auto const rank = number_in_environment(each.rank);
    auto const size = number_in_environment(each.size);
    if (!rank || !size) continue;
    if (*rank >= *size) {
      throw input_error{std::string{each.rank} + "=" + std::to_string(*rank) + ": is not below " + each.size + "=" + std::to_string(*size)};
    }
    return {*rank, *size, number_in_environment(each.local_rank).value_or(*rank)};
  }
  return {};
}

}  // namespace trainer
