// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "../../profile.hpp"
#include "file_access.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

using crc_tables = std::array<std::array<std::uint32_t, 256>, sizeof(std::uint64_t)>;

constexpr crc_tables make_crc_tables() {
  constexpr std::uint32_t reversed_polynomial = 0x82f63b78U;
  crc_tables result{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1U ^ ((sum & 1U) != 0 ? reversed_polynomial : 0);
    result[0][byte] = sum;
  }
  for (std::size_t i = 1; i < result.size(); ++i) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      result[i][byte] = result[i - 1][byte] >> 8U ^ result[0][result[i - 1][byte] & 0xffU];
    }
  }
  return result;
}

inline constexpr crc_tables crc_table = make_crc_tables();

/// CRC-32C (Castagnoli), computed incrementally. Source: RFC 3720, appendix B.4; eight bytes at a time as in M. Kounavis and F. Berry,
/// "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation".
class checksum {
 public:
  void add(std::string_view bytes) noexcept {
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t next = 0;
      std::memcpy(&next, bytes.data(), sizeof next);  // little endian, like the whole file
      next ^= state_;
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < sizeof next; ++i) sum ^= crc_table[sizeof next - 1 - i][next >> (8 * i) & 0xffU];
      state_ = sum;
      bytes.remove_prefix(sizeof next);
    }
    for (char const each : bytes) state_ = state_ >> 8U ^ crc_table[0][(state_ ^ static_cast<unsigned char>(each)) & 0xffU];
  }

  [[nodiscard]] std::uint32_t value() const noexcept { return ~state_; }

 private:
  std::uint32_t state_ = ~std::uint32_t{0};
};

// A journal is an append-only file: `journal_magic` and `profile_format`, then frames. A frame contains the changes of the profile since
// the previous frame, in the order of its table in `record_fields.hpp` and the encoding of `archive_writer`. For a growing list, these are
// its new records. For every other member, it is a flag whether the member changed and, if so, its whole value. Readers skip frames of
// unknown kinds with the right checksum.
//
// When FILE reaches its share of `options::journal_bytes`, it is renamed to FILE.1, and a new FILE begins with a `journal_head`.

inline constexpr std::string_view profile_magic = "profkit\n";  // the first bytes of a saved profile
inline constexpr std::string_view journal_magic = "profkit journal\n";

enum class frame_kind : std::uint32_t {
  part = 0x74726170,  ///< "part"
  last = 0x7473616c,  ///< "last": the last frame of a session
  head = 0x64616568,  ///< "head": a `journal_head`, the first frame of a file that follows another one
  open = 0x6e65706f,  ///< "open": a `journal_open`, which replaces the one before it; not part of the profile
};

/// Precedes the bytes of a frame. Numbers are little endian.
struct frame_header {
  frame_kind kind = frame_kind::part;
  std::uint32_t checksum = 0;  ///< CRC-32C of `kind`, `size` and the frame's bytes
  std::uint64_t size = 0;      ///< size of the frame's bytes
};

inline constexpr std::size_t frame_header_bytes = 16;
static_assert(sizeof(frame_header) == frame_header_bytes);

/// Adds the header to the checksum. To be called before the bytes of the frame are added.
inline void add_header(checksum& sum, frame_header const& header) noexcept {
  char bytes[sizeof header.kind + sizeof header.size];
  std::memcpy(bytes, &header.kind, sizeof header.kind);
  std::memcpy(bytes + sizeof header.kind, &header.size, sizeof header.size);
  sum.add({bytes, sizeof bytes});
}

/// The state that a journal file takes over from the files before it.
struct journal_head {
  std::uint64_t number = 0;     ///< number of the file; the first file has no head and the number 0
  std::uint64_t forgotten = 0;  ///< number of records of the earlier files that are not in `waiting`
  own_string figures{};         ///< figures of all records of the earlier files, as `window_stream` writes them
  profile waiting{};            ///< the tables and single values so far, and the records that are not in the figures yet
};

constexpr auto members_of(described_type<journal_head>) {
  using r = journal_head;
  return [](auto const& visit) { visit(&r::number, &r::forgotten, &r::figures, &r::waiting); };
}

/// A scope or a driver call that has begun and not ended.
struct open_range_record {
  timestamp begin;
  std::uint32_t path = path_record::no_parent;  ///< of the scope, or of the innermost scope around the call
  std::uint32_t thread = 0;                     ///< position in `profile::threads`
  std::string call{};                           ///< name of a driver call, such as "cuStreamSynchronize"; empty for a scope
};

constexpr auto members_of(described_type<open_range_record>) {
  using r = open_range_record;
  return [](auto const& visit) {
    visit(&r::begin, position{&r::path, &profile::paths, true}, position{&r::thread, &profile::threads}, &r::call);
  };
}

/// What is open while a thread hangs. The session writes it if a scope or a call has been open for a second.
struct journal_open {
  static constexpr std::size_t max_ranges = 4096;  ///< further ones are left out: outer ranges of a thread, then whole threads
  timestamp time{};                                ///< everything before it is in the journal
  own_vector<open_range_record> ranges{};          ///< by thread, innermost first
  own_vector<collective_record> collectives{};     ///< of open scopes; their ends are their beginnings
};

constexpr auto members_of(described_type<journal_open>) {
  using r = journal_open;
  return [](auto const& visit) { visit(&r::time, &r::ranges, &r::collectives); };
}

/// The name of the previous journal file. If a journal is a symbolic link, its files are beside the file that it names.
[[nodiscard]] inline std::string earlier_journal(std::string const& file) { return target_of_links(file).string() + ".1"; }

}  // namespace PROFKIT_NAMESPACE::detail
