// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../../profile.hpp"
#include "archive_writer.hpp"
#include "flat_records.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "profile_follower.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Encodes a growing profile as a journal, frame by frame.
class journal_encoder {
 public:
  /// The first bytes of the file.
  [[nodiscard]] static own_string beginning() {
    own_string result{journal_magic};
    string_output output{result};
    archive_writer archive{output};
    archive(profile_format);
    archive.flush();
    return result;
  }

  /// Appends frames with all changes since the last call. Without changes it appends nothing, unless `last` is set. It appends nothing
  /// after the last frame. If there is no memory for a frame, the frames before it stay, and the next call continues with it.
  /// @param rest records that follow those of `so_far` in its lists.
  void append(profile const& so_far, bool last, own_string& to, profile const& rest = {}) {
    if (has_ended_) return;
    member_addresses const rest_lists{const_cast<profile&>(rest)};  // the lists are only read
    bool is_done = false;
    while (!is_done) {
      bool has_news = false;
      written_counts next = written_;
      std::size_t begin = 0;
      try {
        begin = put_content(to, [&](archive_writer& archive) {
          delta what{next, latest_, archive, rest_lists.list};
          fields(what, const_cast<profile&>(so_far));  // `fields` lists the members for reading and writing
          is_done = !what.has_more;
          has_news = what.has_news;
        });
      } catch (...) {
        latest_.clear();  // the next frame contains all values again
        throw;
      }
      written_ = std::move(next);
      if (has_news || (last && is_done)) {
        put_header(last && is_done ? frame_kind::last : frame_kind::part, begin, to);
      } else {
        to.resize(begin);
      }
    }
    has_ended_ = last;
  }

  /// To be called when the rest was moved elsewhere: it starts again with empty lists.
  void forget_rest() noexcept {
    for (written_count& each : written_) each.of_rest = 0;
  }

  /// Appends the first frame of the next file. The frame after it contains all values again.
  void append(journal_head const& head, own_string& to) {
    latest_.clear();
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
  using written_counts = own_vector<written_count>;

  struct delta {
    written_counts& written_of;
    own_vector<own_string>& latest_of;
    archive_writer& to;
    own_vector<void*> const& rest;
    std::size_t members = 0;
    std::size_t lists = 0;
    std::size_t others = 0;
    bool has_news = false;
    bool has_more = false;

    template <class Member>
    void operator()(Member const& member) {
      auto const& rest_of_member = *static_cast<Member const*>(rest[members++]);
      if constexpr (is_growing<Member>) {
        put_new_records(member, rest_of_member);
      } else if constexpr (std::is_same_v<Member, interval>) {
        to(true);  // the end of the session alone does not count as new
        to(member);
      } else {
        put_if_changed(member);
      }
    }

    /// Positions in records refer to lists that have no limit per frame. So their targets are in the same frame or an earlier one.
    template <class Record>
    void put_new_records(own_vector<Record> const& list, own_vector<Record> const& rest_of_list) {
      if (lists == written_of.size()) written_of.emplace_back();
      auto& [written, written_of_rest] = written_of[lists++];
      std::size_t const max_count = is_flat<Record> ? max_records_per_list : std::numeric_limits<std::size_t>::max();
      std::size_t const count = std::min(list.size() - written, max_count);
      std::size_t const count_of_rest = std::min(rest_of_list.size() - written_of_rest, max_count - count);
      to(std::uint64_t{count + count_of_rest});
      to.elements(list.data() + written, count);
      to.elements(rest_of_list.data() + written_of_rest, count_of_rest);
      written += count;
      written_of_rest += count_of_rest;
      has_news = has_news || count + count_of_rest > 0;
      has_more = has_more || written < list.size() || written_of_rest < rest_of_list.size();
    }

    template <class Member>
    void put_if_changed(Member const& member) {
      if (others == latest_of.size()) latest_of.emplace_back();
      own_string& latest = latest_of[others++];
      own_string now;
      string_output output{now};
      archive_writer archive{output};
      archive(member);
      archive.flush();
      bool const is_new = now != latest;  // every member takes at least one byte
      to(is_new);
      if (is_new) to(member);
      has_news = has_news || is_new;
      latest = std::move(now);
    }
  };

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
    header.checksum = checksum_of(header, std::string_view{to}.substr(begin + frame_header_bytes));
    std::memcpy(&to[begin], &header, sizeof header);
  }

  static std::uint32_t checksum_of(frame_header const& header, std::string_view bytes) {
    checksum sum;
    add_header(sum, header);
    sum.add(bytes);
    return sum.value();
  }

  written_counts written_;         ///< by growing list
  own_vector<own_string> latest_;  ///< all other members, as last written
  bool has_ended_ = false;
};

}  // namespace profkit::detail
