// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "error.hpp"
#include "profile.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Records of which a profile may have millions, and that take the same number of bytes in a file whatever is in them: whether the file is
/// long enough is asked once for all of a list.
template <class Record>
inline constexpr bool is_flat = false;
template <>
inline constexpr bool is_flat<scope_record> = true;
template <>
inline constexpr bool is_flat<work_record> = true;
template <>
inline constexpr bool is_flat<gpu_operation_record> = true;
template <>
inline constexpr bool is_flat<graph_node_record> = true;
template <>
inline constexpr bool is_flat<api_call_record> = true;
template <>
inline constexpr bool is_flat<counter_record> = true;
template <>
inline constexpr bool is_flat<allocation_record> = true;

/// @return the value of an enum that has a byte in the file.
template <class Enum>
Enum enum_of(std::uint8_t byte) {
  constexpr bool is_operation = std::is_same_v<Enum, gpu_operation_kind>;
  constexpr bool is_allocation = std::is_same_v<Enum, allocation_kind>;
  static_assert(is_operation || is_allocation || std::is_same_v<Enum, precision>);
  std::uint8_t last = 0;
  if constexpr (is_operation) {
    last = static_cast<std::uint8_t>(gpu_operation_kind::set);
  } else if constexpr (is_allocation) {
    last = static_cast<std::uint8_t>(allocation_kind::level);
  } else {
    last = static_cast<std::uint8_t>(precision::fp8);
  }
  if (byte > last) {
    char const* const what = is_operation ? "kind of GPU operation" : is_allocation ? "kind of allocation" : "precision";
    throw error{std::string{"the profile is damaged: a "} + what + " is " + std::to_string(byte)};
  }
  return static_cast<Enum>(byte);
}

/// Archives of flat records. `leaf` makes something of each number in a record.
template <class Leaf>
class flat_archive {
 public:
  explicit flat_archive(Leaf leaf) : leaf_{leaf} {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      leaf_(value);
    } else {
      fields(*this, value);
    }
  }
  void operator()(timestamp& value) {
    std::int64_t ns = value.time_since_epoch().count();
    leaf_(ns);
    value = timestamp{std::chrono::nanoseconds{ns}};
  }
  template <class T, std::size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }

  [[nodiscard]] Leaf const& leaf() const noexcept { return leaf_; }

 private:
  Leaf leaf_;
};

struct flat_size {
  std::size_t bytes = 0;
  template <class T>
  void operator()(T const&) {
    bytes += sizeof(T);
  }
};

struct flat_reading {
  char const* at;
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = enum_of<T>(static_cast<std::uint8_t>(*at));
    } else {
      std::memcpy(&value, at, sizeof value);
    }
    at += sizeof value;
  }
};

struct flat_writing {
  char* at;
  template <class T>
  void operator()(T const& value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
};

/// How many a flat record takes.
template <class Record>
std::size_t bytes_in_file() {
  Record some;
  flat_archive<flat_size> archive{{}};
  fields(archive, some);
  return archive.leaf().bytes;
}

}  // namespace profkit::detail
