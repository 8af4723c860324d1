// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "archive_reader.hpp"
#include "input_file.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace profkit::detail {

/// Reads one file of a journal, frame by frame, while it grows. Validates every number.
class journal_file {
 public:
  /// @return false if the file is too short.
  /// @throws profkit::error if the file is not a journal or has another format.
  bool read_beginning(std::ifstream& file, std::uint64_t size) {
    if (size < beginning) return false;
    file.clear();
    file.seekg(0);
    bool const is_journal = reads_magic(file, journal_magic);
    if (!file) return false;  // the file was truncated in the meantime
    if (!is_journal) throw error{"it is not a profkit journal"};
    format_ = number_at<std::uint32_t>(file, journal_magic.size());
    check_format(format_);
    position_ = std::max(position_, beginning);
    return true;
  }

  /// Reads the next frame. A `journal_head` replaces the profile by its member `waiting`.
  /// @return false, with `into` unchanged, if there is no complete frame.
  /// @throws profkit::error if a complete frame has invalid positions.
  bool read_frame(std::ifstream& file, std::uint64_t size, profile& into) {
    if (size - position_ < frame_header_bytes) return false;
    auto const header = number_at<frame_header>(file, position_);
    std::uint64_t const left = size - position_ - frame_header_bytes;
    bool const is_head = header.kind == frame_kind::head && !has_read();
    bool const is_known = is_head || header.kind == frame_kind::part || header.kind == frame_kind::last;
    if (!file || !is_known || header.size > left || !has_right_checksum(file, header)) return false;
    file.seekg(static_cast<std::streamoff>(position_ + frame_header_bytes));
    bool const is_whole = is_head ? read_head(file, header.size, into) : read_records(file, header.size, into);
    if (!is_whole) return false;
    known_frame const known{position_, header};
    if (!first_) first_ = known;
    last_ = known;
    position_ += frame_header_bytes + header.size;
    is_complete_ = header.kind == frame_kind::last;
    return true;
  }

  /// Validates tables and single values. To be called after frames were read.
  void check_tables(profile const& read) const { check_.tables(read); }

  /// Continues with the validation state of the previous file.
  void follow(journal_file const& before) { check_ = before.check_; }

  /// Whether a file is the one that was read so far. Compares its first frame, which contains time and process id, and the last frame read.
  [[nodiscard]] bool is_same_file(std::ifstream& file, std::uint64_t size) const {
    auto const is_there = [&](known_frame const& frame) {
      auto const found = number_at<frame_header>(file, frame.position);
      return found.kind == frame.header.kind && found.checksum == frame.header.checksum && found.size == frame.header.size;
    };
    return size >= position_ && is_there(*first_) && is_there(*last_);
  }

  /// Whether a frame was read.
  [[nodiscard]] bool has_read() const noexcept { return last_.has_value(); }
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }
  /// The position after the last complete frame.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// `journal_head::number`
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// `journal_head::forgotten`
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }
  /// `journal_head::figures`; empty without a head, and on the second call.
  [[nodiscard]] own_string take_figures() noexcept { return std::exchange(figures_, {}); }

 private:
  /// A frame that was read, and its position.
  struct known_frame {
    std::uint64_t position = 0;
    frame_header header;
  };

  static constexpr std::uint64_t beginning = journal_magic.size() + sizeof(std::uint32_t);

  /// Whether frames of a format contain only the new records of a list.
  template <class Member>
  [[nodiscard]] static constexpr bool grows(std::uint32_t format) noexcept {
    bool const is_older = std::is_same_v<Member, own_vector<graph_node_record>> && format < first_format_with_growing_nodes;
    return is_growing<Member> && !is_older;
  }

  /// Reads the output of `journal_encoder::delta`, and stores the destinations.
  struct reading {
    archive_reader& from;
    own_vector<void*>& members;  ///< members of the profile in order; null: unchanged

    template <class Member>
    void operator()(Member& member) {
      bool is_there = true;
      if (!grows<Member>(format())) from(is_there);
      if (is_there) from(member);
      members.push_back(is_there ? &member : nullptr);
    }

    [[nodiscard]] std::uint32_t format() const noexcept { return from.format(); }
  };

  struct adding {
    own_vector<void*>::const_iterator next;
    std::uint32_t file_format;

    template <class Member>
    void operator()(Member& to) {
      auto* const from = static_cast<Member*>(*next++);
      if (from == nullptr) return;
      if constexpr (is_growing<Member>) {
        if (!grows<Member>(format())) to.clear();
        to.insert(to.end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
      } else {
        to = std::move(*from);
      }
    }

    [[nodiscard]] std::uint32_t format() const noexcept { return file_format; }
  };

  /// @return false if the bytes of a frame are too few, too many or invalid.
  template <class Read>
  bool read_content(std::ifstream& file, std::uint64_t size, Read const& read) const {
    try {
      archive_reader archive{file, size};
      archive.set_format(format_);
      read(archive);
      return archive.at_end();
    } catch (error const&) {
      return false;
    }
  }

  bool read_records(std::ifstream& file, std::uint64_t size, profile& into) {
    profile part;
    own_vector<void*> members;
    bool const is_whole = read_content(file, size, [&](archive_reader& archive) {
      reading frame{archive, members};
      fields(frame, part);
    });
    if (!is_whole) return false;
    static_assert(std::is_trivially_copyable_v<step_record> && std::is_trivially_copyable_v<scope_record> &&
                  std::is_trivially_copyable_v<gpu_operation_record> && std::is_trivially_copyable_v<api_call_record> &&
                  std::is_trivially_copyable_v<work_record> && std::is_trivially_copyable_v<allocation_record> &&
                  std::is_trivially_copyable_v<collective_record>);
    adding to{members.cbegin(), format_};
    fields(to, into);
    check_.records(part, into);  // records are plain values, so moving leaves them intact
    return true;
  }

  bool read_head(std::ifstream& file, std::uint64_t size, profile& into) {
    journal_head head;
    if (!read_content(file, size, [&](archive_reader& archive) { archive(head); })) return false;
    check_.records(head.waiting, head.waiting);
    into = std::move(head.waiting);
    number_ = head.number;
    forgotten_ = head.forgotten;
    figures_ = std::move(head.figures);
    return true;
  }

  /// @param file positioned after the header.
  [[nodiscard]] static bool has_right_checksum(std::ifstream& file, frame_header const& header) {
    checksum sum;
    add_header(sum, header);
    constexpr std::uint64_t piece = std::uint64_t{1} << 16U;
    own_string bytes;
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

  std::uint32_t format_ = 0;
  std::uint64_t position_ = 0;
  bool is_complete_ = false;
  std::optional<known_frame> first_;
  std::optional<known_frame> last_;
  std::uint64_t number_ = 0;
  std::uint64_t forgotten_ = 0;
  own_string figures_;
  record_check check_;
};

}  // namespace profkit::detail
