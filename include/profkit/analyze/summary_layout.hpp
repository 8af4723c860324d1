// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../profile/checksum.hpp"
#include "../profile/described.hpp"
#include "../profile/record_fields.hpp"
#include "summary.hpp"
#include "summary_fields.hpp"

namespace profkit::detail {

/// Describes the layout of a type in a file as text: the names and types of its members.
template <class T>
struct layout_of {
  static void add_to(std::string& text) {
    if constexpr (is_described<T>) {
      text += '{';
      for_each_element(describe(described_type<T>{}), [&](auto const& each) {
        text += each.name;
        text += ':';
        add_member(text, each);
      });
      text += '}';
    } else if constexpr (std::is_class_v<T>) {
      text += "r" + std::to_string(profile_format);  // texts, times, and records, which have the profile's format
    } else {
      text += (std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u') + std::to_string(sizeof(T));
    }
  }

 private:
  template <class Struct, class Member>
  static void add_member(std::string& text, field<Struct, Member> const&) {
    layout_of<Member>::add_to(text);
  }
};
template <class T>
struct layout_of<std::optional<T>> {
  static void add_to(std::string& text) { layout_of<T>::add_to(text += '?'); }
};
template <class T>
struct layout_of<std::vector<T>> {
  static void add_to(std::string& text) { layout_of<T>::add_to(text += '*'); }
};
template <class T, std::size_t Count>
struct layout_of<std::array<T, Count>> {
  static void add_to(std::string& text) { layout_of<T>::add_to(text += std::to_string(Count)); }
};
template <>
struct layout_of<std::string> {
  static void add_to(std::string& text) { text += 's'; }
};

/// A checksum of the names, types and order of all members of a summary. It differs if a file of another version is incompatible.
inline std::uint32_t summary_layout() {
  std::string text;
  layout_of<summary>::add_to(text);
  checksum sum;
  sum.add(text);
  return sum.value();
}

}  // namespace profkit::detail
