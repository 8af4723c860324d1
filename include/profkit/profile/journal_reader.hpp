// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "archive.hpp"
#include "checksum.hpp"
#include "earlier_formats.hpp"
#include "error.hpp"
#include "journal_format.hpp"
#include "profile.hpp"
#include "record_fields.hpp"

namespace profkit {

/// What a call of `journal_reader::read` found.
struct journal_progress {
  bool has_begun = false;            ///< there is the beginning of a journal; false: a file that is empty, or too short yet
  bool has_news = false;             ///< something was appended to the profile
  bool is_other_file = false;        ///< the file is not the one of the call before: the profile was emptied first
  bool is_complete = false;          ///< the session ended, and all of it has been read
  std::uint64_t bytes_left_out = 0;  ///< behind the last whole frame: not written as a whole yet, or damaged
};

/// @brief Reads a journal while a session writes it: each call goes on where the one before stopped, and takes as long as what is new.
///
/// The file may be replaced in the meantime, as it is when the program starts again. Believes no number in the file. Not thread-safe.
class journal_reader {
 public:
  /// @param path of a journal.
  explicit journal_reader(std::filesystem::path path) : path_{std::move(path)} {}

  /// @brief Appends what has come since the last call: of lists the new records, of everything else what has changed.
  /// @param into empty at first, then what the last call left. Records may have been removed from it meanwhile, but not entries of the
  /// lists that records point into: paths, threads, allocators, and names.
  /// @return what was found.
  /// @throws profkit::error that names the file, if it cannot be opened at the first call, is no journal, has another format, or if a whole
  /// frame has records that point to nothing.
  journal_progress read(profile& into) {
    try {
      return read_news(into);
    } catch (error const& failure) {
      throw error{path_.string() + ": " + failure.what()};
    }
  }

 private:
  /// A frame that was read, and where it stands.
  struct known_frame {
    std::uint64_t position = 0;
    detail::frame_header header;
  };

  static constexpr std::uint64_t beginning = detail::journal_magic.size() + sizeof(std::uint32_t);

  /// Reads what `journal_encoder::delta` wrote, and remembers where it put it.
  struct reading {
    detail::archive_reader& from;
    std::vector<void*>& members;  ///< of the profile, in order; null: did not change

    template <class Member>
    void operator()(Member& member) {
      bool is_there = true;
      if constexpr (!detail::is_growing<Member>) from(is_there);
      if (is_there) from(member);
      members.push_back(is_there ? &member : nullptr);
    }
  };

  struct adding {
    std::vector<void*>::const_iterator next;

    template <class Member>
    void operator()(Member& to) {
      auto* const from = static_cast<Member*>(*next++);
      if (from == nullptr) return;
      if constexpr (detail::is_growing<Member>) {
        to.insert(to.end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
      } else {
        to = std::move(*from);
      }
    }
  };

  journal_progress read_news(profile& into) {
    std::ifstream file{path_, std::ios::binary};
    if (!file && position_ == 0) throw error{"it cannot be opened"};
    if (!file) return {true, false, false, is_complete_, 0};  // about to be replaced
    file.seekg(0, std::ios::end);
    std::streamoff const end = file.tellg();
    std::uint64_t const size = end < 0 ? 0 : static_cast<std::uint64_t>(end);
    journal_progress result;
    if (last_ && !is_same_file(file, size)) {
      *this = journal_reader{path_};
      into = {};
      result.is_other_file = true;
    }
    result.has_begun = read_beginning(file, size);
    while (result.has_begun && !is_complete_ && read_frame(file, size, into)) result.has_news = true;
    if (result.has_news) {
      detail::complete(into, format_);
      check_.tables(into);
    }
    result.is_complete = is_complete_;
    result.bytes_left_out = size - position_;
    return result;
  }

  /// @return false: the file is too short for it.
  bool read_beginning(std::ifstream& file, std::uint64_t size) {
    file.seekg(0);
    char magic[detail::journal_magic.size()] = {};
    bool const is_long_enough = size >= beginning && file.read(magic, sizeof magic);
    if (!is_long_enough) return false;
    if (std::string_view{magic, sizeof magic} != detail::journal_magic) throw error{"it is not a profkit journal"};
    format_ = number_at<std::uint32_t>(file, detail::journal_magic.size());
    if (format_ < detail::oldest_profile_format || format_ > detail::profile_format) {
      throw error{"it has format " + std::to_string(format_) + ", this version reads formats " +
                  std::to_string(detail::oldest_profile_format) + " to " + std::to_string(detail::profile_format)};
    }
    position_ = std::max(position_, beginning);
    return true;
  }

  /// By its first frame, which has the time and the process, and by the last one that was read.
  [[nodiscard]] bool is_same_file(std::ifstream& file, std::uint64_t size) const {
    auto const is_there = [&](known_frame const& frame) {
      auto const found = number_at<detail::frame_header>(file, frame.position);
      return found.kind == frame.header.kind && found.checksum == frame.header.checksum && found.size == frame.header.size;
    };
    return size >= position_ && is_there(*first_) && is_there(*last_);
  }

  /// @return false, and `into` is as it was, if there is no whole frame.
  bool read_frame(std::ifstream& file, std::uint64_t size, profile& into) {
    if (size - position_ < detail::frame_header_bytes) return false;
    auto const header = number_at<detail::frame_header>(file, position_);
    std::uint64_t const left = size - position_ - detail::frame_header_bytes;
    bool const is_known = header.kind == detail::frame_kind::part || header.kind == detail::frame_kind::last;
    if (!file || !is_known || header.size > left || !has_right_checksum(file, header)) return false;
    file.seekg(static_cast<std::streamoff>(position_ + detail::frame_header_bytes));
    profile part;
    std::vector<void*> members;
    try {
      detail::archive_reader archive{file, header.size};
      archive.set_format(format_);
      reading frame{archive, members};
      detail::fields(frame, part);
      if (!archive.at_end()) return false;
    } catch (error const&) {
      return false;
    }
    static_assert(std::is_trivially_copyable_v<step_record> && std::is_trivially_copyable_v<scope_record> &&
                  std::is_trivially_copyable_v<gpu_operation_record> && std::is_trivially_copyable_v<api_call_record> &&
                  std::is_trivially_copyable_v<work_record> && std::is_trivially_copyable_v<allocation_record>);
    adding to{members.cbegin()};
    detail::fields(to, into);
    check_.records(part, into);  // records are plain values: they are still there once they have been moved
    known_frame const known{position_, header};
    if (!first_) first_ = known;
    last_ = known;
    position_ += detail::frame_header_bytes + header.size;
    is_complete_ = header.kind == detail::frame_kind::last;
    return true;
  }

  /// @param file behind the header.
  [[nodiscard]] static bool has_right_checksum(std::ifstream& file, detail::frame_header const& header) {
    detail::checksum sum;
    add_header(sum, header);
    constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
    std::string bytes;
    for (std::uint64_t rest = header.size; rest > 0; rest -= bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(rest, piece)));
      if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return false;
      sum.add(bytes);
    }
    return sum.value() == header.checksum;
  }

  template <class Number>
  static Number number_at(std::ifstream& file, std::uint64_t position) {
    char bytes[sizeof(Number)] = {};
    file.clear();
    file.seekg(static_cast<std::streamoff>(position));
    file.read(bytes, sizeof bytes);
    Number result;
    std::memcpy(&result, bytes, sizeof result);
    return result;
  }

  std::filesystem::path path_;
  std::uint32_t format_ = 0;
  std::uint64_t position_ = 0;  ///< behind the last whole frame
  bool is_complete_ = false;
  std::optional<known_frame> first_;
  std::optional<known_frame> last_;
  detail::record_check check_;
};

/// What a journal holds.
struct journal_content {
  profile content;
  bool is_complete = false;          ///< the session ended, and all of it is here
  std::uint64_t bytes_left_out = 0;  ///< behind the last whole frame
};

namespace detail {

/// What the reports say of a journal whose session did not end.
inline void describe_recovery(journal_content& what) {
  if (what.is_complete) return;
  std::vector<collector_record>& collectors = what.content.collectors;
  auto at =
      std::find_if(collectors.begin(), collectors.end(), [](collector_record const& each) { return each.kind == collector_kind::journal; });
  if (at == collectors.end()) at = collectors.insert(collectors.end(), collector_record{});
  std::string const ms = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(what.content.time.duration()).count());
  std::string const left_out =
      what.bytes_left_out == 0 ? "" : "; the " + std::to_string(what.bytes_left_out) + " bytes behind that are not whole";
  *at = {"journal", "recovered", "the session did not end; this is what it recorded in its first " + ms + " ms" + left_out,
         collector_kind::journal};
}

}  // namespace detail

/// Reads a journal, whether its session ended or was killed. `load` does, too.
/// @throws profkit::error that names the file and says whether it cannot be read, is no journal, is of another format or is damaged.
[[nodiscard]] inline journal_content load_journal(std::filesystem::path const& path) {
  journal_content result;
  journal_progress const found = journal_reader{path}.read(result.content);
  if (!found.has_begun) {
    error const why{"it is not a profkit journal"};
    throw error{path.string() + ": " + why.what()};
  }
  result.is_complete = found.is_complete;
  result.bytes_left_out = found.bytes_left_out;
  detail::describe_recovery(result);
  return result;
}

}  // namespace profkit
