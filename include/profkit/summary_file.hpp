// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Saves and loads summaries.

#include <string>

#include "impl/profile/library_abi.hpp"
#include "impl/report/report_code.hpp"
#include "summary.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Saves a summary to a file, like `summary.profkit` of a report. `profkit compare` and `profkit report` read it. Its size does not
/// depend on the length of the run. The file is replaced atomically.
/// @param what the summary.
/// @param path the file.
/// @throws profkit::error that names the file and says why it cannot be written; a previous file stays unchanged.
void save_summary(summary const& what, std::string const& path);

/// @brief Whether a file is a summary file, by its first bytes.
/// @param path the file.
/// @return false also if the file cannot be read.
[[nodiscard]] bool is_summary_file(std::string const& path);

/// @brief Loads a summary file. Versions of profkit whose summaries have the same members can read it; save a profile for later versions.
/// @param path the file.
/// @return the summary.
/// @throws profkit::error that names the file and says whether it cannot be read, is not a summary, has another layout or is damaged.
[[nodiscard]] PROFKIT_TAGGED_FUNCTION summary load_summary(std::string const& path);

}  // namespace PROFKIT_NAMESPACE
