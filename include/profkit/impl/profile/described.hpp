// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

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

}  // namespace profkit::detail
