// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <streambuf>
#include <string_view>

namespace profkit::detail {

/// The size of an open file in bytes; 0 if it has none. Moves the read position to the beginning.
inline std::uint64_t size_of(std::istream& file) {
  file.seekg(0, std::ios::end);
  std::streamoff const end = file.tellg();
  file.seekg(0);
  return end < 0 ? 0 : static_cast<std::uint64_t>(end);
}

/// Reads as many bytes as `magic` has.
/// @param magic at most 16 bytes.
/// @return whether they are equal to `magic`.
inline bool reads_magic(std::istream& file, std::string_view magic) {
  std::array<char, 16> bytes{};
  return file.read(bytes.data(), static_cast<std::streamsize>(magic.size())) && std::string_view{bytes.data(), magic.size()} == magic;
}

/// Whether a file begins with `magic`; false also if it cannot be read.
inline bool begins_with(std::filesystem::path const& path, std::string_view magic) {
  std::ifstream file{path, std::ios::binary};
  return reads_magic(file, magic);
}

/// Reads bytes in memory, which must outlive this, as a file without positions.
class memory_stream : private std::streambuf, public std::istream {
 public:
  explicit memory_stream(std::string_view bytes) : std::istream{this} {
    char* const begin = const_cast<char*>(bytes.data());  // `setg` takes no constant bytes; they are only read
    setg(begin, begin, begin + bytes.size());
  }
};

}  // namespace profkit::detail
