// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace profkit::detail {

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

}  // namespace profkit::detail
