// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "../profile/rank_record.hpp"

namespace profkit::detail {

/// The environment variables of a launcher. Sources: PyTorch "torchrun (Elastic Launch)", "Environment Variables"; Open MPI 5.0,
/// "Environment variables set for user processes"; MPICH "Hydra Process Management Framework" and Intel MPI "Developer Reference"; Slurm
/// `srun(1)`, "OUTPUT ENVIRONMENT VARIABLES".
struct launcher_variables {
  char const* launcher;
  char const* rank;
  char const* size;
  char const* local_rank;
  char const* restart;  ///< empty: none
};

/// In the order of their precedence: torchrun and mpirun may run inside a job of Slurm, whose variables describe the tasks around them.
inline constexpr launcher_variables known_launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", ""},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", ""},  // also Intel MPI
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_RESTART_COUNT"},
};

/// The result of reading the variables of the launchers.
struct found_rank {
  std::optional<rank_record> rank{};
  std::string wrong{};  ///< the variables with their values if they are not a valid rank; otherwise empty
};

[[nodiscard]] inline std::optional<std::uint32_t> number_in(char const* text) noexcept {
  if (text == nullptr) return std::nullopt;
  std::string_view const digits{text};
  std::uint32_t result = 0;
  auto const [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (status != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return result;
}

/// @param value_of returns the value of an environment variable, or null.
template <class ValueOf>
[[nodiscard]] found_rank find_rank(ValueOf const& value_of) {
  for (launcher_variables const& names : known_launchers) {
    char const* const rank_text = value_of(names.rank);
    char const* const size_text = value_of(names.size);
    if (rank_text == nullptr || size_text == nullptr) continue;
    auto const rank = number_in(rank_text);
    auto const size = number_in(size_text);
    if (!rank || !size || *rank >= *size) {
      return {std::nullopt, std::string{names.rank} + "=" + rank_text + " and " + names.size + "=" + size_text};
    }
    rank_record found;
    found.rank = *rank;
    found.size = *size;
    found.local_rank = number_in(value_of(names.local_rank));
    if (*names.restart != '\0') found.restart = number_in(value_of(names.restart)).value_or(0);
    found.launcher = names.launcher;
    return {found, {}};
  }
  return {};
}

[[nodiscard]] inline found_rank find_rank() {
  return find_rank([](char const* name) { return ::secure_getenv(name); });
}

}  // namespace profkit::detail
