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

/// What a journal holds.
struct journal_content {
  profile content;
  bool is_complete = false;          ///< the session ended, and all of it is here
  std::uint64_t bytes_left_out = 0;  ///< behind the last whole frame
};

namespace detail {

/// Reads frames from the beginning on, up to the first that is not whole. Believes no number in the file.
class journal_reader {
 public:
  /// @throws profkit::error
  explicit journal_reader(std::filesystem::path const& path) : file_{path, std::ios::binary} {
    if (!file_) throw error{"it cannot be opened"};
    file_.seekg(0, std::ios::end);
    std::streamoff const size = file_.tellg();
    file_.seekg(0);
    constexpr std::size_t beginning = journal_magic.size() + sizeof format_;
    char magic[journal_magic.size()] = {};
    if (size < static_cast<std::streamoff>(beginning) || !file_.read(magic, sizeof magic) ||
        std::string_view{magic, sizeof magic} != journal_magic) {
      throw error{"it is not a profkit journal"};
    }
    read_number(format_);
    if (format_ < oldest_profile_format || format_ > profile_format) {
      throw error{"it has format " + std::to_string(format_) + ", this version reads formats " + std::to_string(oldest_profile_format) +
                  " to " + std::to_string(profile_format)};
    }
    left_ = static_cast<std::uint64_t>(size) - beginning;
  }

  /// @throws profkit::error if frames are whole and records in them point to nothing.
  [[nodiscard]] journal_content read() {
    journal_content result;
    while (!result.is_complete) {
      std::optional<frame_kind> const kind = read_frame(result.content);
      if (!kind) break;
      result.is_complete = *kind == frame_kind::last;
    }
    result.bytes_left_out = left_;
    complete_and_check(result.content, format_);
    return result;
  }

 private:
  /// Reads what `journal_encoder::delta` wrote, and remembers where it put it.
  struct reading {
    archive_reader& from;
    std::vector<void*>& members;  ///< of the profile, in order; null: did not change

    template <class Member>
    void operator()(Member& member) {
      bool is_there = true;
      if constexpr (!is_growing<Member>) from(is_there);
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
      if constexpr (is_growing<Member>) {
        to.insert(to.end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
      } else {
        to = std::move(*from);
      }
    }
  };

  /// @return nothing, and `into` is as it was, if there is no whole frame.
  std::optional<frame_kind> read_frame(profile& into) {
    if (left_ < frame_header_bytes) return std::nullopt;
    std::streamoff const begin = file_.tellg();
    frame_header header;
    read_number(header);
    bool const is_known = header.kind == frame_kind::part || header.kind == frame_kind::last;
    if (!file_ || !is_known || header.size > left_ - frame_header_bytes || !has_right_checksum(header)) return std::nullopt;
    file_.seekg(begin + static_cast<std::streamoff>(frame_header_bytes));
    profile part;
    std::vector<void*> members;
    try {
      archive_reader archive{file_, header.size};
      archive.set_format(format_);
      reading frame{archive, members};
      fields(frame, part);
      if (!archive.at_end()) return std::nullopt;
    } catch (error const&) {
      return std::nullopt;
    }
    adding to{members.cbegin()};
    fields(to, into);
    left_ -= frame_header_bytes + header.size;
    return header.kind;
  }

  [[nodiscard]] bool has_right_checksum(frame_header const& header) {
    checksum sum;
    add_header(sum, header);
    constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
    std::string bytes;
    for (std::uint64_t rest = header.size; rest > 0; rest -= bytes.size()) {
      bytes.resize(static_cast<std::size_t>(std::min(rest, piece)));
      if (!file_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return false;
      sum.add(bytes);
    }
    return sum.value() == header.checksum;
  }

  template <class Number>
  void read_number(Number& value) {
    char bytes[sizeof value] = {};
    file_.read(bytes, sizeof bytes);
    std::memcpy(&value, bytes, sizeof value);
  }

  std::ifstream file_;
  std::uint32_t format_ = 0;
  std::uint64_t left_ = 0;  ///< bytes that are not read yet
};

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
  try {
    journal_content result = detail::journal_reader{path}.read();
    detail::describe_recovery(result);
    return result;
  } catch (error const& failure) {
    throw error{path.string() + ": " + failure.what()};
  }
}

}  // namespace profkit
