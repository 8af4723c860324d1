// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Finds the rank of this process, or the invalid variables of its launcher. Names in `profkit::detail` may change. The stable
/// function is `profkit::process_rank` (`profkit.hpp`).

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "impl/profile/record_types.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The environment variables of a launcher. Sources: PyTorch "torchrun (Elastic Launch)", "Environment Variables"; Open MPI 5.0,
/// "Environment variables set for user processes"; MPICH "Hydra Process Management Framework" and Intel MPI "Developer Reference"; Slurm
/// `srun(1)`, "OUTPUT ENVIRONMENT VARIABLES". Only srun sets `SLURM_STEP_NUM_TASKS`: a batch script also has `SLURM_PROCID=0`, and
/// `SLURM_NTASKS` of the job. A container may get some of the variables only.
struct launcher_variables {
  char const* launcher;
  char const* rank;
  char const* size;
  char const* local_rank;
  char const* restart;      ///< empty: none
  char const* size_of_job;  ///< read if neither `size` nor `job` is set; empty: none
  char const* job = "";     ///< set in each process of a job
};

/// In the order of their precedence: torchrun and mpirun may run inside a job of Slurm, whose variables describe the tasks around them.
inline constexpr launcher_variables known_launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT", ""},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "", ""},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "", ""},  // also Intel MPI, and srun --mpi=pmi2, which sets no MPI_LOCALRANKID
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_RESTART_COUNT", "SLURM_NTASKS", "SLURM_JOB_ID"},
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

/// @param value_of returns the value of an environment variable, or null. Empty values count as unset.
/// @return what the launcher set; n/a with an empty `wrong` if its rank or its size is unset.
template <class ValueOf>
[[nodiscard]] found_rank rank_of_launcher(launcher_variables const& names, ValueOf const& value_of) {
  auto const is_set = [](char const* text) { return text != nullptr && *text != '\0'; };
  bool const is_in_job = is_set(value_of(names.size)) || *names.size_of_job == '\0' || is_set(value_of(names.job));
  char const* const size_name = is_in_job ? names.size : names.size_of_job;
  char const* const rank_text = value_of(names.rank);
  char const* const size_text = value_of(size_name);
  if (!is_set(rank_text) || !is_set(size_text)) return {};
  auto const rank = number_in(rank_text);
  auto const size = number_in(size_text);
  if (!rank || !size || *rank >= *size) {
    return {std::nullopt, std::string{names.rank} + "=" + rank_text + " and " + size_name + "=" + size_text};
  }
  rank_record found;
  found.rank = *rank;
  found.size = *size;
  found.local_rank = number_in(value_of(names.local_rank));
  if (*names.restart != '\0') found.restart = number_in(value_of(names.restart)).value_or(0);
  found.launcher = names.launcher;
  return {found, {}};
}

/// @brief The rank that the first launcher with several ranks set; if there is none, the rank of the first launcher.
///
/// If that launcher set no local rank, the result has the local rank of a launcher that set the same rank and size.
/// @param value_of returns the value of an environment variable, or null.
template <class ValueOf>
[[nodiscard]] found_rank find_rank(ValueOf const& value_of) {
  found_rank result;
  for (launcher_variables const& names : known_launchers) {
    found_rank next = rank_of_launcher(names, value_of);
    if (!result.rank) {
      if (!next.wrong.empty()) return next;
      result = next;
    } else if (next.rank && result.rank->size == 1 && next.rank->size > 1) {
      result = next;
    } else if (next.rank && !result.rank->local_rank && next.rank->rank == result.rank->rank && next.rank->size == result.rank->size) {
      result.rank->local_rank = next.rank->local_rank;
    }
  }
  return result;
}

[[nodiscard]] inline found_rank find_rank() {
  return find_rank([](char const* name) { return ::secure_getenv(name); });
}

}  // namespace PROFKIT_NAMESPACE::detail
