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
#include "../analyze/summary_layout.hpp"
#include "../profile/archive.hpp"
#include "../profile/atomic_file.hpp"
#include "../profile/byte_output.hpp"
#include "../profile/checksum.hpp"
#include "../profile/error.hpp"

namespace profkit {

namespace detail {

inline constexpr std::string_view summary_magic = "profkit-summary\n";

/// The magic, `summary_layout` of the version that writes, a checksum of what follows, and the members of the summary.
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
  archive(summary_layout());
  archive(sum.value());
  archive.flush();
  to.write(content);
}

/// @return the checksum of what the stream has from here to its end.
inline std::uint32_t checksum_of_rest(std::istream& from) {
  checksum sum;
  char piece[1U << 14U];
  while (from.read(piece, sizeof piece) || from.gcount() > 0) sum.add({piece, static_cast<std::size_t>(from.gcount())});
  return sum.value();
}

inline summary read_summary(std::istream& file, std::uint64_t size) {
  char magic[summary_magic.size()] = {};
  if (size < sizeof magic || !file.read(magic, sizeof magic) || summary_magic != std::string_view{magic, sizeof magic}) {
    throw error{"it is not a profkit summary"};
  }
  std::uint32_t layout = 0;
  std::uint32_t checksum = 0;
  archive_reader header{file, std::min<std::uint64_t>(size - sizeof magic, sizeof layout + sizeof checksum)};
  header(layout);
  header(checksum);
  if (layout != summary_layout()) {
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

/// @brief Writes a summary to a file: `summary.profkit` of a report. It is small, does not depend on how long the program ran, and
/// `profkit compare` and `profkit report` read it. The file is there as a whole or not at all.
/// @throws profkit::error that names the file and says why it cannot be written; what was there before is still there.
inline void save_summary(summary const& what, std::filesystem::path const& path) {
  detail::atomic_file file{path};
  detail::write_summary(what, file);
  file.finish();
}

/// @return whether a file begins as those of `save_summary` do; false, too, where it cannot be read.
[[nodiscard]] inline bool is_summary_file(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  char magic[detail::summary_magic.size()] = {};
  return file.read(magic, sizeof magic) && detail::summary_magic == std::string_view{magic, sizeof magic};
}

/// @brief Reads what `save_summary` wrote. Summaries are read by the version of profkit that wrote them, and by those whose summaries have
/// the same members; a saved profile is what later versions read.
/// @throws profkit::error that names the file and says whether it cannot be read, is no summary, is of another version or is damaged.
[[nodiscard]] inline summary load_summary(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path.string()};
  file.seekg(0, std::ios::end);
  std::streamoff const size = file.tellg();
  file.seekg(0);
  try {
    if (size < 0) throw error{"it is not a profkit summary"};
    return detail::read_summary(file, static_cast<std::uint64_t>(size));
  } catch (error const& failure) {
    throw error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit
