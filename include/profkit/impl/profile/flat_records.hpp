// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../profile.hpp"
#include "record_fields.hpp"

namespace profkit::detail {

/// Describes a member of a struct: its name in files, and a pointer to it.
template <class Struct, class Member>
struct field {
  char const* name;
  Member Struct::*member;
  /// Used if the members of this member appear in the same object: selects and orders them. "count=measured,mean_ms" selects the members
  /// described as "count", under the name "measured", and "mean_ms". Empty: all members.
  char const* shown = "";
};
template <class Struct, class Member>
field(char const*, Member Struct::*) -> field<Struct, Member>;
template <class Struct, class Member>
field(char const*, Member Struct::*, char const*) -> field<Struct, Member>;

/// Selects a description: `describe(described_type<T>{})` returns the fields of `T`, made by `fields_of`.
template <class T>
struct described_type {};

/// Fails to compile unless `T` has exactly `Count` members, because a structured binding must name all of them.
template <std::size_t Count, class T>
constexpr void require_member_count(T const& value) {
  static_assert(Count >= 2 && Count <= 23, "extend the list below");
  // clang-format off
  if constexpr (Count == 2) { auto const& [a, b] = value; static_cast<void>(a); }
  if constexpr (Count == 3) { auto const& [a, b, c] = value; static_cast<void>(a); }
  if constexpr (Count == 4) { auto const& [a, b, c, d] = value; static_cast<void>(a); }
  if constexpr (Count == 5) { auto const& [a, b, c, d, e] = value; static_cast<void>(a); }
  if constexpr (Count == 6) { auto const& [a, b, c, d, e, f] = value; static_cast<void>(a); }
  if constexpr (Count == 7) { auto const& [a, b, c, d, e, f, g] = value; static_cast<void>(a); }
  if constexpr (Count == 8) { auto const& [a, b, c, d, e, f, g, h] = value; static_cast<void>(a); }
  if constexpr (Count == 9) { auto const& [a, b, c, d, e, f, g, h, i] = value; static_cast<void>(a); }
  if constexpr (Count == 10) { auto const& [a, b, c, d, e, f, g, h, i, j] = value; static_cast<void>(a); }
  if constexpr (Count == 11) { auto const& [a, b, c, d, e, f, g, h, i, j, k] = value; static_cast<void>(a); }
  if constexpr (Count == 12) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l] = value; static_cast<void>(a); }
  if constexpr (Count == 13) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value; static_cast<void>(a); }
  if constexpr (Count == 14) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value; static_cast<void>(a); }
  if constexpr (Count == 15) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value; static_cast<void>(a); }
  if constexpr (Count == 16) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value; static_cast<void>(a); }
  if constexpr (Count == 17) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = value; static_cast<void>(a); }
  if constexpr (Count == 18) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = value; static_cast<void>(a); }
  if constexpr (Count == 19) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value; static_cast<void>(a); }
  if constexpr (Count == 20) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = value; static_cast<void>(a); }
  if constexpr (Count == 21) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = value; static_cast<void>(a); }
  if constexpr (Count == 22) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = value; static_cast<void>(a); }
  if constexpr (Count == 23) { auto const& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = value; static_cast<void>(a); }
  // clang-format on
}

template <class Tuple, class Visit, std::size_t... Positions>
constexpr void for_each_element(Tuple& elements, Visit const& visit, std::index_sequence<Positions...>) {
  (visit(std::get<Positions>(elements)), ...);
}

/// Visits the elements of a tuple in their order. Compiles faster than `std::apply`, which computes whether the call may throw.
template <class Tuple, class Visit>
constexpr void for_each_element(Tuple&& elements, Visit const& visit) {
  for_each_element(elements, visit, std::make_index_sequence<std::tuple_size_v<std::decay_t<Tuple>>>{});
}

/// Matches any field, but worse than `is_same_member`. So the compiler does not create a function for each pair of fields with different
/// types.
struct any_field {
  template <class Field>
  constexpr any_field(Field const&) {}  // NOLINT(google-explicit-constructor): a conversion is its purpose
};
constexpr std::size_t is_same_member(any_field, any_field) { return 0; }
template <class Field>
constexpr std::size_t is_same_member(Field const& first, Field const& second) {
  return first.member == second.member ? 1 : 0;
}

template <class Field, class Fields, std::size_t... Positions>
constexpr std::size_t fields_of_member(Field const& one, Fields const& fields, std::index_sequence<Positions...>) {
  return (is_same_member(one, std::get<Positions>(fields)) + ...);
}

/// The number of pairs of fields that describe the same member.
template <class... Fields>
constexpr std::size_t repeated_members(std::tuple<Fields...> const& fields) {
  std::size_t pairs = 0;
  for_each_element(fields, [&](auto const& one) { pairs += fields_of_member(one, fields, std::index_sequence_for<Fields...>{}); });
  return pairs - sizeof...(Fields);
}

template <class T, class = void>
inline constexpr bool is_described = false;
template <class T>
inline constexpr bool is_described<T, std::void_t<decltype(describe(described_type<T>{}))>> = true;

/// Whether an archive takes the name of each described member before its value.
template <class Archive, class = void>
inline constexpr bool takes_names = false;
template <class Archive>
inline constexpr bool takes_names<Archive, std::void_t<decltype(std::declval<Archive&>().name(""))>> = true;

/// Passes the members of a described struct to an archive, in the order of the description. Fails to compile if the description omits or
/// repeats a member.
template <class Archive, class T, class = std::enable_if_t<is_described<T>>>
void fields(Archive& archive, T& value) {
  constexpr auto all = describe(described_type<T>{});
  static_assert(repeated_members(all) == 0, "a member is described twice");
  static_cast<void>(&require_member_count<std::tuple_size_v<std::remove_const_t<decltype(all)>>, T>);
  for_each_element(all, [&](auto const& each) {
    if constexpr (takes_names<Archive>) archive.name(each.name);
    archive(value.*each.member);
  });
}

/// Whether a record has a fixed size in files. A profile may have millions of such records; the reader checks the length of the file once
/// per list.
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
template <>
inline constexpr bool is_flat<collective_record> = true;
template <>
inline constexpr bool is_flat<sample_record> = true;

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

/// The size of a flat record in a file.
template <class Record>
std::size_t bytes_in_file() {
  Record some;
  flat_archive<flat_size> archive{{}};
  fields(archive, some);
  return archive.leaf().bytes;
}

}  // namespace profkit::detail
