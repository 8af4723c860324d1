// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <istream>

#include "../analyze/check_summary.hpp"
#include "../analyze/summary.hpp"
#include "../analyze/summary_fields.hpp"
#include "../profile/archive_reader.hpp"
#include "../profile/archive_writer.hpp"
#include "../profile/archived_state.hpp"
#include "../profile/byte_output.hpp"
#include "../profile/checksum.hpp"
#include "../profile/error.hpp"
#include "../profile/input_file.hpp"
#include "../profile/own_memory.hpp"
#include "report_code.hpp"

namespace profkit::detail {

/// Writes the magic, the `state_layout` of this version, a checksum of the rest, and the members of the summary.
inline void write_summary(summary const& what, byte_output& to) {
  own_string content;
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
  if (!archive.at_end()) throw error{"the summary is damaged: unexpected bytes after the end"};
  summary_check{}(result);
  return result;
}

}  // namespace profkit::detail
