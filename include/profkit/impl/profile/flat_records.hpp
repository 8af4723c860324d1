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

namespace PROFKIT_NAMESPACE::detail {

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

/// An enum that takes one byte in files: its last value, and its name in error messages. `file_enum_of(described_type<Enum>{})` returns it.
struct file_enum {
  template <class Enum>
  constexpr file_enum(Enum max, char const* name, bool grows = false) : last{static_cast<std::uint8_t>(max)}, what{name}, may_grow{grows} {}

  std::uint8_t last;
  char const* what;
  bool may_grow;  ///< 0 means "unknown" or "other", so a value that a newer version added is read as 0
};
constexpr file_enum file_enum_of(described_type<gpu_operation_kind>) { return {gpu_operation_kind::set, "kind of GPU operation"}; }
constexpr file_enum file_enum_of(described_type<allocation_kind>) { return {allocation_kind::usage, "kind of allocation"}; }
constexpr file_enum file_enum_of(described_type<page_event_kind>) { return {page_event_kind::cpu_fault, "kind of page event"}; }
constexpr file_enum file_enum_of(described_type<message_side>) { return {message_side::receive, "side of a message"}; }
constexpr file_enum file_enum_of(described_type<precision>) { return {precision::fp8, "precision", true}; }
constexpr file_enum file_enum_of(described_type<copy_direction>) { return {copy_direction::peer_to_peer, "direction of a copy", true}; }
constexpr file_enum file_enum_of(described_type<collector_kind>) { return {collector_kind::unified_memory, "kind of collector", true}; }

/// @return the enum value of a byte.
/// @param is_newer a newer version may have added the value.
/// @throws profkit::error if there is no such value.
template <class Enum>
Enum enum_of(std::uint8_t byte, bool is_newer) {
  constexpr file_enum known = file_enum_of(described_type<Enum>{});
  if (byte > known.last && known.may_grow && is_newer) return Enum{};
  if (byte > known.last) throw error{std::string{"the file is damaged: a "} + known.what + " is " + std::to_string(byte)};
  return static_cast<Enum>(byte);
}

/// @throws profkit::error if the byte is no truth value.
inline bool truth_of(std::uint8_t byte) {
  if (byte > 1) throw error{"the file is damaged: a truth value is " + std::to_string(byte)};
  return byte == 1;
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
  bool is_newer;  ///< see `enum_of`
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = enum_of<T>(static_cast<std::uint8_t>(*at), is_newer);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = truth_of(static_cast<std::uint8_t>(*at));
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

}  // namespace PROFKIT_NAMESPACE::detail
