// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <string>
#include <string_view>

#include "../analyze/check_summary.hpp"
#include "../analyze/summary.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/archive_reader.hpp"
#include "../profile/archive_writer.hpp"
#include "../profile/archived_state.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/byte_output.hpp"
#include "../profile/checksum.hpp"
#include "../profile/error.hpp"
#include "../profile/input_file.hpp"

namespace profkit {

namespace detail {

inline constexpr std::string_view summary_magic = "profkit-summary\n";

/// Writes the magic, the `state_layout` of this version, a checksum of the rest, and the members of the summary.
inline void write_summary(summary const& what, byte_output& to) {
  std::string content;
  string_output content_output{content};
  archive_writer content_archive{content_output};
  content_archive(what);
  content_archive.flush();
  checksum sum;
  sum.add(content);
  to.write(summary_magic);
  archive_writer archive{to};
  archive(state_layout<summary>());
  archive(sum.value());
  archive.flush();
  to.write(content);
}

/// @return the checksum of the rest of the stream.
inline std::uint32_t checksum_of_rest(std::istream& from) {
  checksum sum;
  char piece[1U << 14U];
  while (from.read(piece, sizeof piece) || from.gcount() > 0) sum.add({piece, static_cast<std::size_t>(from.gcount())});
  return sum.value();
}

inline summary read_summary(std::istream& file, std::uint64_t size) {
  if (!reads_magic(file, summary_magic)) throw error{"it is not a profkit summary"};
  std::uint32_t layout = 0;
  std::uint32_t checksum = 0;
  archive_reader header{file, std::min<std::uint64_t>(size - summary_magic.size(), sizeof layout + sizeof checksum)};
  header(layout);
  header(checksum);
  if (layout != state_layout<summary>()) {
    throw error{"the summary was written by another version of profkit, whose summaries have other members"};
  }
  std::streamoff const begin = file.tellg();
  if (checksum_of_rest(file) != checksum) throw error{"the summary is cut off or damaged: its checksum is wrong"};
  file.clear();
  file.seekg(begin);
  archive_reader archive{file, size - static_cast<std::uint64_t>(begin)};
  summary result;
  archive(result);
  if (!archive.at_end()) throw error{"the summary is damaged: it goes on behind its end"};
  summary_check{}(result);
  return result;
}

}  // namespace detail

/// @brief Saves a summary to a file, like `summary.profkit` of a report. `profkit compare` and `profkit report` read it. Its size does not
/// depend on the length of the run. The file is replaced atomically.
/// @param what the summary.
/// @param path the file.
/// @throws profkit::error that names the file and says why it cannot be written; a previous file stays unchanged.
inline void save_summary(summary const& what, std::filesystem::path const& path) {
  detail::atomic_file file{path};
  detail::write_summary(what, file);
  file.finish();
}

/// @brief Whether a file is a summary file, by its first bytes.
/// @param path the file.
/// @return false also if the file cannot be read.
[[nodiscard]] inline bool is_summary_file(std::filesystem::path const& path) { return detail::begins_with(path, detail::summary_magic); }

/// @brief Loads a summary file. Versions of profkit whose summaries have the same members can read it; save a profile for later versions.
/// @param path the file.
/// @return the summary.
/// @throws profkit::error that names the file and says whether it cannot be read, is not a summary, has another layout or is damaged.
[[nodiscard]] inline summary load_summary(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path.string()};
  std::uint64_t const size = detail::size_of(file);
  try {
    return detail::read_summary(file, size);
  } catch (error const& failure) {
    throw error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit
