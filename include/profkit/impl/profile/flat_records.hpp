// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// The number of bytes of each value of a type in files; 0 if it differs between values.
template <class T>
constexpr std::size_t bytes_in_file();

template <class T>
struct file_bytes {
  static constexpr std::size_t value = bytes_in_file<T>();
};
template <class T, std::size_t N>
struct file_bytes<std::array<T, N>> {
  static constexpr std::size_t value = N * file_bytes<T>::value;
};

template <class Struct, class Member>
constexpr std::size_t bytes_of_member(Member Struct::*) {
  return file_bytes<Member>::value;
}

template <class T>
constexpr std::size_t bytes_in_file() {
  if constexpr (is_record<T>) {
    std::size_t result = 0;
    members_of(described_type<T>{})([&](auto const&... entries) {
      bool const are_fixed = ((bytes_of_member(member_of(entries)) > 0) && ...);
      if (are_fixed) result = (bytes_of_member(member_of(entries)) + ...);
    });
    return result;
  } else {
    return std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, timestamp> ? sizeof(T) : 0;
  }
}

/// Whether a record has a fixed size in files. A profile may have millions of such records; the reader checks the length of the file once
/// per list.
template <class Record>
inline constexpr bool is_flat = is_record<Record>&& bytes_in_file<Record>() > 0;

/// An enum that takes one byte in files: its last value, and its name in error messages.
template <class Enum>
struct file_enum;
template <>
struct file_enum<gpu_operation_kind> {
  static constexpr gpu_operation_kind last = gpu_operation_kind::set;
  static constexpr char const* what = "kind of GPU operation";
};
template <>
struct file_enum<allocation_kind> {
  static constexpr allocation_kind last = allocation_kind::usage;
  static constexpr char const* what = "kind of allocation";
};
template <>
struct file_enum<precision> {
  static constexpr precision last = precision::fp8;
  static constexpr char const* what = "precision";
};
template <>
struct file_enum<copy_direction> {
  static constexpr copy_direction last = copy_direction::peer_to_peer;
  static constexpr char const* what = "direction of a copy";
};
template <>
struct file_enum<collector_kind> {
  static constexpr collector_kind last = collector_kind::gpu_utilization;
  static constexpr char const* what = "kind of collector";
};

/// @return the enum value of a byte.
/// @throws profkit::error if there is no such value.
template <class Enum>
Enum enum_of(std::uint8_t byte) {
  if (byte > static_cast<std::uint8_t>(file_enum<Enum>::last)) {
    throw error{std::string{"the file is damaged: a "} + file_enum<Enum>::what + " is " + std::to_string(byte)};
  }
  return static_cast<Enum>(byte);
}

/// An archive for flat records that calls `leaf` for each number of a record.
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

 private:
  Leaf leaf_;
};

struct flat_reading {
  char const* at;
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = enum_of<T>(static_cast<std::uint8_t>(*at));
    } else if constexpr (std::is_same_v<T, bool>) {
      auto const byte = static_cast<std::uint8_t>(*at);
      if (byte > 1) throw error{"the file is damaged: a truth value is " + std::to_string(byte)};
      value = byte == 1;
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

}  // namespace profkit::detail
