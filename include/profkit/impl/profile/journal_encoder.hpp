// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../profile.hpp"
#include "../../profile_builder.hpp"
#include "archive_writer.hpp"
#include "flat_records.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// Encodes a growing profile as a journal, frame by frame.
class journal_encoder {
 public:
  /// The first bytes of the file.
  [[nodiscard]] static own_string beginning() {
    own_string result{journal_magic};
    string_output output{result};
    archive_writer archive{output};
    archive(profile_format.in_file());
    archive.flush();
    return result;
  }

  /// Appends frames with all changes since the last call. Without changes it appends nothing, unless `last` is set. It appends nothing
  /// after the last frame. If there is no memory for a frame, the frames before it stay, and the next call continues with it.
  /// @param rest records that follow those of `so_far` in its lists.
  void append(profile const& so_far, bool last, own_string& to, profile const& rest = {}) {
    if (has_ended_) return;
    bool is_done = false;
    while (!is_done) {
      frame_content found;
      written_counts next = written_;
      std::size_t begin = 0;
      try {
        begin = put_content(to, [&](archive_writer& archive) { found = put_changes(so_far, rest, next, archive); });
      } catch (...) {
        latest_ = {};  // the next frame contains all values again
        throw;
      }
      written_ = next;
      is_done = !found.has_more;
      if (found.has_news || (last && is_done)) {
        put_header(last && is_done ? frame_kind::last : frame_kind::part, begin, to);
      } else {
        to.resize(begin);
      }
    }
    has_ended_ = last;
  }

  /// Leaves out the records so far. Tables, values and later records are written.
  void skip_records(profile const& so_far, profile const& rest) noexcept {
    written_count* each = written_.data();
    for_each_member(so_far, rest, [&](auto const& list, auto const& rest_of_list) {
      using type = std::decay_t<decltype(list)>;
      if constexpr (is_growing<type>) {
        using record = typename type::value_type;
        constexpr bool is_table = (!is_flat<record> && !std::is_same_v<record, memory_record>) ||
                                  is_one_of<record, graph_node_record, launch_shape_record, replayed_scope_record>;
        if constexpr (!is_table) *each = {list.size(), rest_of_list.size()};
      }
      ++each;
    });
  }

  /// To be called when the rest was moved elsewhere: it starts again with empty lists.
  void forget_rest() noexcept {
    for (written_count& each : written_) each.of_rest = 0;
  }

  /// Appends a frame with what is open. The frames before it contain the table entries that it refers to.
  void append(journal_open const& open, own_string& to) const {
    if (has_ended_) return;
    std::size_t const begin = put_content(to, [&](archive_writer& archive) { archive(open); });
    put_header(frame_kind::open, begin, to);
  }

  /// Appends the first frame of the next file. The frame after it contains all values again.
  void append(journal_head const& head, own_string& to) {
    latest_ = {};
    std::size_t const begin = put_content(to, [&](archive_writer& archive) { archive(head); });
    put_header(frame_kind::head, begin, to);
  }

 private:
  /// Limits the loss if a kill cuts off a frame.
  static constexpr std::size_t max_records_per_list = std::size_t{1} << 16U;

  /// The number of written records of a growing list.
  struct written_count {
    std::size_t of_list = 0;
    std::size_t of_rest = 0;
  };
  using written_counts = std::array<written_count, profile_members>;

  struct frame_content {
    bool has_news = false;
    bool has_more = false;  ///< a list has more new records than a frame may contain
  };

  /// Writes all members of a profile: of growing lists the new records, of other members their value if it has changed.
  frame_content put_changes(profile const& so_far, profile const& rest, written_counts& written, archive_writer& to) {
    frame_content result;
    std::size_t number = 0;
    for_each_member(so_far, rest, [&](auto const& member, auto const& rest_of_member) {
      using type = std::decay_t<decltype(member)>;
      if constexpr (is_growing<type>) {
        put_new_records(member, rest_of_member, written[number], to, result);
      } else if constexpr (std::is_same_v<type, interval>) {
        to(true);  // the end of the session alone does not count as new
        to(member);
      } else {
        result.has_news = put_if_changed(member, latest_[number], to) || result.has_news;
      }
      ++number;
    });
    return result;
  }

  /// Positions in records refer to lists that have no limit per frame. So their targets are in the same frame or an earlier one.
  template <class Record>
  static void put_new_records(own_vector<Record> const& list, own_vector<Record> const& rest, written_count& written, archive_writer& to,
                              frame_content& frame) {
    std::size_t const max_count = is_flat<Record> ? max_records_per_list : std::numeric_limits<std::size_t>::max();
    std::size_t const count = std::min(list.size() - written.of_list, max_count);
    std::size_t const count_of_rest = std::min(rest.size() - written.of_rest, max_count - count);
    to.begin_list<Record>(count + count_of_rest);
    to.elements(list.data() + written.of_list, count);
    to.elements(rest.data() + written.of_rest, count_of_rest);
    written.of_list += count;
    written.of_rest += count_of_rest;
    frame.has_news = frame.has_news || count + count_of_rest > 0;
    frame.has_more = frame.has_more || written.of_list < list.size() || written.of_rest < rest.size();
  }

  /// @param latest the value as last written; every value takes at least one byte.
  /// @return whether the value has changed.
  template <class Member>
  static bool put_if_changed(Member const& member, own_string& latest, archive_writer& to) {
    own_string now;
    string_output output{now};
    archive_writer archive{output};
    archive(member);
    archive.flush();
    bool const is_new = now != latest;
    to(is_new);
    if (is_new) to(member);
    latest = std::move(now);
    return is_new;
  }

  /// Appends a frame with an empty header; nothing if there is no memory.
  /// @return the position of the frame.
  template <class Write>
  static std::size_t put_content(own_string& to, Write const& write) {
    std::size_t const begin = to.size();
    try {
      to.append(frame_header_bytes, '\0');
      string_output output{to};
      archive_writer archive{output};
      write(archive);
      archive.flush();
    } catch (...) {
      to.resize(begin);
      throw;
    }
    return begin;
  }

  static void put_header(frame_kind kind, std::size_t begin, own_string& to) {
    frame_header header{kind, 0, to.size() - begin - frame_header_bytes};
    checksum sum;
    add_header(sum, header);
    sum.add(std::string_view{to}.substr(begin + frame_header_bytes));
    header.checksum = sum.value();
    std::memcpy(&to[begin], &header, sizeof header);
  }

  written_counts written_{};                        ///< by member; only of growing lists
  std::array<own_string, profile_members> latest_;  ///< by member: all others, as last written
  bool has_ended_ = false;
};

}  // namespace PROFKIT_NAMESPACE::detail
