// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <profkit/analyze/ranks/job_rank.hpp>

namespace profkit_program {

/// Finds the files of the ranks in the folder of a job. The file of rank 3 is `rank3/summary.profkit`, `rank3.profile`, `rank3.journal`,
/// `rank3.profkit` or `rank3`, or without any of these FILE.rank3; its content tells whether it is a profile, a summary or a journal.
/// @return by rank; empty if the folder has none.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::filesystem::path>> rank_files(std::filesystem::path const& folder);

/// Reads the files of the ranks. A file that cannot be read is a rank with a problem.
[[nodiscard]] std::vector<profkit::job_rank> read_ranks(std::vector<std::pair<std::uint32_t, std::filesystem::path>> const& files);

/// What to make of the ranks of a job.
struct ranks_output {
  std::string html{};   ///< file of the page; empty: none
  std::string trace{};  ///< file of the trace; empty: none
  enum class format { text, full_text, json, markdown, document } printed = format::text;
};

/// Reports the ranks of a job, and writes the wanted files.
/// @return what to print.
/// @throws profkit::error if the folder has no ranks.
[[nodiscard]] std::string ranks_report(std::filesystem::path const& folder, ranks_output const& wanted);

}  // namespace profkit_program
