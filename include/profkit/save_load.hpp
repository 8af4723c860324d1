// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Saves and loads profiles, and loads journals.

#include <cstdint>
#include <string>

#include "error.hpp"  // IWYU pragma: export
#include "impl/profile/library_abi.hpp"
#include "profile.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The content of a journal.
struct journal_content {
  profile content;                   ///< the recorded data
  bool is_complete = false;          ///< the session ended, and the file is complete
  std::uint64_t bytes_left_out = 0;  ///< bytes after the last complete frame
};

/// @brief Saves a profile to a file, so that it can be analysed later or on another machine. The file is replaced atomically.
/// @param profile such as `report::profile()`.
/// @param path the file.
/// @throws profkit::error that names the file and says why it cannot be written; a previous file stays unchanged.
void save(profile const& profile, std::string const& path);

/// @brief Whether a file begins like a journal.
/// @return false also if the file cannot be read.
[[nodiscard]] bool is_journal_file(std::string const& path);

/// @brief Reads a journal of a session that ended or was killed. `load` reads journals too.
/// @param path the journal.
/// @return the profile, and whether it is complete.
/// @throws profkit::error that names the file and states whether it cannot be read, is not a journal, has another format or is damaged.
[[nodiscard]] PROFKIT_TAGGED_FUNCTION journal_content load_journal(std::string const& path);

/// @brief Loads a saved profile or a journal (`PROFKIT=journal=FILE`).
///
/// Reads all formats 16.x: what a newer version added is left out, and the collector "format" then says so. If the session of a journal did
/// not end, loads all complete frames; the collector "journal" then states how many bytes were left out. The content is validated, so
/// damaged and hostile files throw.
/// @param path the file.
/// @return the profile.
/// @throws profkit::error that names the file and says whether it cannot be read, is not a profile, has another format or is damaged.
[[nodiscard]] PROFKIT_TAGGED_FUNCTION profile load(std::string const& path);

}  // namespace PROFKIT_NAMESPACE
