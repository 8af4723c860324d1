// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

#include "archive_reader.hpp"
#include "archive_writer.hpp"
#include "atomic_file.hpp"
#include "byte_output.hpp"
#include "earlier_formats.hpp"
#include "error.hpp"
#include "input_file.hpp"
#include "journal_format.hpp"
#include "journal_reader.hpp"
#include "profile.hpp"

namespace profkit {

namespace detail {

inline constexpr std::string_view profile_magic = "profkit\n";

inline void write_profile(profile const& profile, byte_output& to) {
  to.write(profile_magic);
  archive_writer archive{to};
  archive(profile_format);
  archive(profile);
  archive.flush();
}

}  // namespace detail

/// @brief Saves a profile to a file, so that it can be analysed later or on another machine. The file is replaced atomically.
/// @param profile such as `report::profile()`.
/// @param path the file.
/// @throws profkit::error that names the file and says why it cannot be written; a previous file stays unchanged.
inline void save(profile const& profile, std::filesystem::path const& path) {
  detail::atomic_file file{path};
  detail::write_profile(profile, file);
  file.finish();
}

/// @brief Whether a file begins like a journal.
/// @return false also if the file cannot be read.
[[nodiscard]] inline bool is_journal_file(std::filesystem::path const& path) {
  return detail::begins_with(path, detail::journal_magic.substr(0, detail::profile_magic.size()));
}

/// @brief Loads a saved profile or a journal (`PROFKIT=journal=FILE`).
///
/// Reads profile formats 5 to 8. If the session of a journal did not end, loads all complete frames; the collector "journal" then states
/// how many bytes were left out. The content is validated, so damaged and hostile files throw.
/// @param path the file.
/// @return the profile.
/// @throws profkit::error that names the file and says whether it cannot be read, is not a profile, has another format or is damaged.
[[nodiscard]] inline profile load(std::filesystem::path const& path) {
  if (is_journal_file(path)) return load_journal(path).content;
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path.string()};
  std::uint64_t const size = detail::size_of(file);
  if (!detail::reads_magic(file, detail::profile_magic)) throw error{path.string() + " is not a profkit profile"};
  try {
    detail::archive_reader archive{file, size - detail::profile_magic.size()};
    std::uint32_t format = 0;
    archive(format);
    detail::check_format(format);
    archive.set_format(format);
    profile result;
    archive(result);
    if (!archive.at_end()) throw error{"the profile is damaged: it goes on behind its end"};
    detail::complete_and_check(result, format);
    return result;
  } catch (error const& failure) {
    throw error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit
