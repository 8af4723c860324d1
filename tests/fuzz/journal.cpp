// SPDX-License-Identifier: Apache-2.0
//
// The input is a journal: unchanged, and with corrected checksums, which a fuzzer cannot guess.
#include <profkit/error.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/impl/profile/journal_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "loaded.hpp"
#include "require.hpp"
#include "written.hpp"

namespace {

std::string with_right_checksums(std::string bytes) {
  using namespace profkit::detail;
  std::size_t at = journal_magic.size() + sizeof profile_format;
  while (at <= bytes.size() && bytes.size() - at >= frame_header_bytes) {
    frame_header header;
    std::memcpy(static_cast<void*>(&header), &bytes[at], sizeof header);
    std::size_t const begin = at + frame_header_bytes;
    if (header.size > bytes.size() - begin) break;
    checksum sum;
    add_header(sum, header);
    sum.add(std::string_view{bytes}.substr(begin, header.size));
    header.checksum = sum.value();
    std::memcpy(&bytes[at], &header, sizeof header);
    at = begin + header.size;
  }
  return bytes;
}

void read(std::string const& bytes) {
  static memory_file const file;
  file.write(bytes);
  std::optional<profkit::journal_content> loaded;
  try {
    allocation_limit const limit{bytes.size()};
    loaded = profkit::load_journal(file.path());
  } catch (profkit::error const&) {
    return;
  }
  require(loaded->bytes_left_out < bytes.size(), "a journal leaves out less than all of it");
  require_sound(loaded->content);
  try {
    require(!printed_journal(file.path()).empty(), "a journal has a report");
  } catch (profkit::error const&) {  // its figures are damaged
    require(loaded->content.quality.untraced_records > 0, "a journal without figures has a report");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const bytes{reinterpret_cast<char const*>(data), size};
  std::string const repaired = with_right_checksums(bytes);
  read(repaired);
  if (repaired != bytes) read(bytes);
  return 0;
}
