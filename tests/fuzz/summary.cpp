// SPDX-License-Identifier: Apache-2.0
//
// The input is a summary file: unchanged, and with a correct header, which a fuzzer cannot guess.
#include <profkit/error.hpp>
#include <profkit/impl/profile/archive_writer.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/impl/report/report_code.hpp>
#include <profkit/summary_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loaded.hpp"
#include "require.hpp"
#include "written.hpp"

namespace {

using namespace profkit::detail;

constexpr std::size_t beginning_bytes = summary_magic.size() + 2 * sizeof(std::uint32_t);

std::string with_right_beginning(std::string_view bytes) {
  std::string_view const content = bytes.substr(std::min(beginning_bytes, bytes.size()));
  std::string result{summary_magic};
  string_output output{result};
  archive_writer archive{output};
  archive(summary_format.in_file());
  archive.flush();
  checksum sum;
  sum.add(std::string_view{result}.substr(summary_magic.size()));
  sum.add(content);
  archive(sum.value());
  archive.flush();
  return result.append(content);
}

void read(std::string_view bytes) {
  static memory_file const file;
  file.write(bytes);
  std::optional<profkit::summary> loaded;
  try {
    // A row by name without figures takes 18 times as many bytes in memory as in the file; lists double as they grow.
    allocation_limit const limit{bytes.size(), 40};
    loaded = profkit::load_summary(file.path());
  } catch (profkit::error const&) {
    return;
  }
  bool const is_newer = !loaded->collectors.empty() && loaded->collectors.back().name == "format";
  require(saved(*loaded) == bytes || is_newer, "a summary that was loaded is saved as the same bytes");
  require(!printed(*loaded).empty(), "a summary that was loaded has a report");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes{reinterpret_cast<char const*>(data), size};
  std::string const repaired = with_right_beginning(bytes);
  read(repaired);
  if (repaired != bytes) read(bytes);
  return 0;
}
