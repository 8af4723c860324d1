// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "file_access.hpp"
#include "journal_format.hpp"
#include "journal_output.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief The result of `journal_reader::read`.
struct journal_progress {
  bool has_begun = false;            ///< the file begins like a journal; false: the file is empty or too short so far
  bool has_news = false;             ///< data was appended to the profile
  bool is_other_file = false;        ///< the file was replaced since the previous call, so the profile was cleared first
  bool is_complete = false;          ///< the session ended, and everything was read
  std::uint64_t bytes_left_out = 0;  ///< bytes after the last complete frame, which are not complete yet or are damaged
};

/// @brief Reads a journal while a session writes it. Each call continues where the previous call stopped, and takes time proportional to
/// the new data.
///
/// The file may be replaced at any time, for example when the program starts again. When the session continues in another file
/// (`options::journal_bytes`), the reader follows. Every number in the file is validated. Not thread-safe.
class journal_reader {
 public:
  /// @brief Creates a reader; opens nothing.
  /// @param path the journal.
  explicit journal_reader(std::filesystem::path path) : path_{std::move(path)} {}

  /// @brief Appends all changes since the last call: new records of lists, and changed values of all other members.
  /// @param into empty at first, then the result of the previous call. Records may have been removed from it, but not entries of the tables
  ///   that records refer to: paths, threads, allocators, names.
  /// @return the progress of this call.
  /// @throws profkit::error that names the file if the first call cannot open it, if it is not a journal, has another format, or contains a
  ///   complete frame with invalid positions.
  journal_progress read(profile& into) {
    try {
      return read_news(into);
    } catch (error const& failure) {
      throw error{path_.string() + ": " + failure.what()};
    }
  }

  /// @brief The version of the format of the file that was read last.
  [[nodiscard]] detail::format_version const& format() const noexcept { return file_.format(); }

 private:
  journal_progress read_news(profile& into) {
    std::ifstream file = detail::open_to_read(path_);
    if (!file && file_.position() == 0) throw error{"it cannot be opened"};
    if (!file) return {true, false, false, file_.is_complete(), 0};  // the file is being replaced
    std::uint64_t const size = detail::size_of(file);
    journal_progress result;
    if (file_.has_read() && !file_.is_same_file(file, size)) {
      result.has_news = continue_with(file, size, into);
      if (!result.has_news) {
        *this = journal_reader{path_};
        into = {};
        result.is_other_file = true;
      }
    }
    result.has_begun = file_.read_beginning(file, size);
    if (result.has_begun && !file_.has_read()) result.has_news = read_first_frame(file, size, into);
    while (file_.has_read() && !file_.is_complete() && file_.read_frame(file, size, into)) result.has_news = true;
    if (result.has_news) {
      file_.check_tables(into);
      into.quality.untraced_records = forgotten_;
    }
    result.is_complete = file_.is_complete();
    result.bytes_left_out = size - file_.position();
    return result;
  }

  bool read_first_frame(std::ifstream& file, std::uint64_t size, profile& into) {
    profile first;
    if (!file_.read_frame(file, size, first)) return false;
    if (file_.number() > 0 && read_file_before(first, into)) return true;
    forgotten_ = file_.forgotten();
    into = std::move(first);
    return true;
  }

  /// Reads the previous file, whose records the head of this file summarises.
  /// @param waiting `journal_head::waiting` of the head.
  /// @return false, with `into` unchanged, if that file is missing or incomplete.
  bool read_file_before(profile const& waiting, profile& into) {
    std::ifstream file = detail::open_to_read(detail::earlier_journal(path_.string()));
    if (!file) return false;
    std::uint64_t const size = detail::size_of(file);
    detail::journal_file before;
    profile content;
    try {
      if (!before.read_beginning(file, size)) return false;
      while (before.read_frame(file, size, content)) continue;
    } catch (error const&) {
      return false;
    }
    if (before.number() + 1 != file_.number() || !has_same_tables(content, waiting)) return false;
    into = std::move(content);
    forgotten_ = before.forgotten();
    file_.follow(before);
    return true;
  }

  /// Reads the rest of the file that was renamed to FILE.1, and the head of the new file.
  /// @return false if the new file belongs to another session; `into` may have changed.
  bool continue_with(std::ifstream& next, std::uint64_t size, profile& into) {
    std::ifstream file = detail::open_to_read(detail::earlier_journal(path_.string()));
    if (!file) return false;
    std::uint64_t const size_before = detail::size_of(file);
    if (!file_.is_same_file(file, size_before)) return false;
    while (file_.read_frame(file, size_before, into)) continue;
    detail::journal_file found;
    profile waiting;
    bool const is_next = found.read_beginning(next, size) && found.read_frame(next, size, waiting) && found.number() == file_.number() + 1;
    if (!is_next || !has_same_tables(into, waiting)) return false;
    found.follow(file_);
    file_ = std::move(found);
    return true;
  }

  static bool has_same_tables(profile const& a, profile const& b) {
    return a.environment.process_id == b.environment.process_id && a.time.begin == b.time.begin && a.paths.size() == b.paths.size() &&
           a.threads.size() == b.threads.size() && a.gpu_names.size() == b.gpu_names.size() && a.api_names.size() == b.api_names.size() &&
           a.counter_names.size() == b.counter_names.size() && a.allocators.size() == b.allocators.size() &&
           a.communicators.size() == b.communicators.size() && a.collective_words.size() == b.collective_words.size() &&
           a.functions.size() == b.functions.size() && a.launch_shapes.size() == b.launch_shapes.size() &&
           a.energy_meters.size() == b.energy_meters.size();
  }

  std::filesystem::path path_;
  detail::journal_file file_;
  std::uint64_t forgotten_ = 0;  ///< number of records that are no longer in any file
};

}  // namespace PROFKIT_NAMESPACE
