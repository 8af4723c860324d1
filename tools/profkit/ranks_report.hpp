// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ranks/job_rank.hpp"

namespace profkit_program {

/// Finds the files of the ranks in the folder of a job. The file of rank 3 is `rank3/summary.profkit`, `rank3.profile`, `rank3.journal`,
/// `rank3.profkit` or `rank3`, or without any of these FILE.rank3; its content tells whether it is a profile, a summary or a journal.
/// Without any of these either, it is `3/summary.profkit`.
/// @return by rank; empty if the folder has none.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::filesystem::path>> rank_files(std::filesystem::path const& folder);

/// The file of a path that is one process: the path itself, or the summary in the folder of a report.
/// @return nothing if the path is a folder of ranks.
/// @throws profkit::error for a folder that has neither.
[[nodiscard]] std::optional<std::filesystem::path> file_of_process(std::filesystem::path const& path);

/// Reads the files of the ranks. A file that cannot be read is a rank with a problem.
[[nodiscard]] profkit::detail::own_vector<profkit::job_rank> read_ranks(
    std::vector<std::pair<std::uint32_t, std::filesystem::path>> const& files);

/// Finds the files of the ranks that several paths name: files, folders of one report, and folders of ranks.
/// @return by rank.
/// @throws profkit::error for a path that does not exist or has no report, for a file whose rank neither its content nor its name tells,
/// and for two files of one rank.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::filesystem::path>> rank_files(std::vector<std::string> const& paths);

/// What to make of the ranks of a job.
struct ranks_output {
  std::string html{};   ///< file of the page; empty: none
  std::string json{};   ///< file of the figures as JSON; empty: none
  std::string trace{};  ///< file of the trace; empty: none
  enum class format { text, full_text, json, markdown, document } printed = format::text;
};

/// Reports the ranks of a job, and writes the wanted files.
/// @param files by rank; at least one.
/// @return what to print.
[[nodiscard]] std::string ranks_report(std::vector<std::pair<std::uint32_t, std::filesystem::path>> const& files,
                                       ranks_output const& wanted);

}  // namespace profkit_program
