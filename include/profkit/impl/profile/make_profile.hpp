// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <ios>
#include <string>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "../../save_load.hpp"
#include "archive_reader.hpp"
#include "archive_writer.hpp"
#include "atomic_file.hpp"
#include "byte_output.hpp"
#include "input_file.hpp"
#include "journal_format.hpp"
#include "journal_reader.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace profkit::detail {

inline void write_profile(profile const& profile, byte_output& to) {
  to.write(profile_magic);
  archive_writer archive{to};
  archive(profile_format);
  archive(profile);
  archive.flush();
}

/// Adds the collector "journal" with the state of a session that did not end.
inline void describe_recovery(journal_content& what) {
  if (what.is_complete) return;
  own_vector<collector_record>& collectors = what.content.collectors;
  auto at =
      std::find_if(collectors.begin(), collectors.end(), [](collector_record const& each) { return each.kind == collector_kind::journal; });
  if (at == collectors.end()) at = collectors.insert(collectors.end(), collector_record{});
  std::string const ms = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(what.content.time.duration()).count());
  std::string const left_out =
      what.bytes_left_out == 0 ? "" : "; the " + std::to_string(what.bytes_left_out) + " bytes behind that are not whole";
  *at = {"journal", "recovered", "the session did not end; this is what it recorded in its first " + ms + " ms" + left_out,
         collector_kind::journal};
}

/// Loads a saved profile.
inline profile load_profile(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw error{"cannot open " + path};
  std::uint64_t const size = size_of(file);
  if (!reads_magic(file, profile_magic)) throw error{path + " is not a profkit profile"};
  try {
    archive_reader archive{file, size - profile_magic.size()};
    std::uint32_t format = 0;
    archive(format);
    check_format(format);
    profile result;
    archive(result);
    if (!archive.at_end()) throw error{"the profile is damaged: unexpected bytes after the end"};
    validate(result);
    return result;
  } catch (error const& failure) {
    throw error{path + ": " + failure.what()};
  }
}

}  // namespace profkit::detail

namespace profkit {

[[gnu::used]] inline void save(profile const& profile, std::string const& path) {
  detail::atomic_file file{path};
  detail::write_profile(profile, file);
  file.finish();
}

[[gnu::used]] inline bool is_journal_file(std::string const& path) {
  return detail::begins_with(path, detail::journal_magic.substr(0, detail::profile_magic.size()));
}

[[gnu::used]] inline journal_content load_journal(std::string const& path) {
  journal_content result;
  journal_progress const found = journal_reader{path}.read(result.content);
  if (!found.has_begun) {
    error const why{"it is not a profkit journal"};
    throw error{path + ": " + why.what()};
  }
  result.is_complete = found.is_complete;
  result.bytes_left_out = found.bytes_left_out;
  detail::describe_recovery(result);
  return result;
}

[[gnu::used]] inline profile load(std::string const& path) {
  return is_journal_file(path) ? load_journal(path).content : detail::load_profile(path);
}

}  // namespace profkit
