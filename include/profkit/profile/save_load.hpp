// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "error.hpp"  // IWYU pragma: export
#include "journal_content.hpp"
#include "profile.hpp"
#include "profile_file_code.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "make_profile.hpp"  // IWYU pragma: export
#endif

namespace profkit {

/// @brief Saves a profile to a file, so that it can be analysed later or on another machine. The file is replaced atomically.
/// @param profile such as `report::profile()`.
/// @param path the file.
/// @throws profkit::error that names the file and says why it cannot be written; a previous file stays unchanged.
inline void save(profile const& profile, std::string const& path) { detail::profile_file_code<void>::save(profile, path); }

/// @brief Whether a file begins like a journal.
/// @return false also if the file cannot be read.
[[nodiscard]] inline bool is_journal_file(std::string const& path) { return detail::profile_file_code<void>::is_journal(path); }

/// @brief Reads a journal of a session that ended or was killed. `load` reads journals too.
/// @param path the journal.
/// @return the profile, and whether it is complete.
/// @throws profkit::error that names the file and states whether it cannot be read, is not a journal, has another format or is damaged.
/// @tparam Unused void. Files that do not call this template do not compile the destructor of its result.
template <class Unused = void>
[[nodiscard]] journal_content load_journal(std::string const& path) {
  return detail::profile_file_code<Unused>::load_journal(path);
}

/// @brief Loads a saved profile or a journal (`PROFKIT=journal=FILE`).
///
/// Reads profile formats 12 and 13. If the session of a journal did not end, loads all complete frames; the collector "journal" then states
/// how many bytes were left out. The content is validated, so damaged and hostile files throw.
/// @param path the file.
/// @return the profile.
/// @throws profkit::error that names the file and says whether it cannot be read, is not a profile, has another format or is damaged.
/// @tparam Unused void. Files that do not call this template do not compile the destructor of its result.
template <class Unused = void>
[[nodiscard]] profile load(std::string const& path) {
  return is_journal_file(path) ? load_journal<Unused>(path).content : detail::profile_file_code<Unused>::load(path);
}

}  // namespace profkit
