// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/impl/profile/archive_writer.hpp>
#include <profkit/impl/profile/journal_format.hpp>
#include <profkit/impl/profile/record_fields.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

/// Encodes values as a later version of profkit would: each record and each struct of a summary has a member more at its end, and the
/// profile two lists more, with records of fixed and of variable size.
class later_writer {
 public:
  explicit later_writer(profkit::detail::own_string& to) : to_{to} {}

  template <class T>
  void operator()(T& value) {
    namespace pd = profkit::detail;
    if constexpr (std::is_same_v<std::remove_const_t<T>, profkit::profile>) {
      pd::fields(*this, value);
      put_lists();
    } else if constexpr (pd::has_size<std::remove_const_t<T>>) {
      pd::own_string inner;
      later_writer members{inner};
      pd::fields(members, value);
      inner += added;
      put(static_cast<std::uint32_t>(inner.size()));
      to_ += inner;
    } else {
      put(value);
    }
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    put(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T, std::size_t Count>
  void operator()(std::array<T, Count>& values) {
    for (T& each : values) (*this)(each);
  }
  template <class T>
  void operator()(profkit::detail::own_vector<T>& values) {
    put(std::uint64_t{values.size()});
    if constexpr (profkit::detail::is_flat<T>) {
      if (values.empty()) return;
      put(static_cast<std::uint32_t>(profkit::detail::bytes_in_file<T>() + added.size()));
      for (T const& each : values) {
        profkit::detail::string_output output{to_};
        profkit::detail::archive_writer archive{output};
        archive.elements(&each, 1);
        archive.flush();
        to_ += added;
      }
    } else {
      for (T& each : values) (*this)(each);
    }
  }

  template <class T>
  void put(T const& value) {
    profkit::detail::string_output output{to_};
    profkit::detail::archive_writer archive{output};
    archive(value);
    archive.flush();
  }

  /// The lists that the later version adds to a profile.
  void put_lists() {
    put(std::uint64_t{2});
    put(static_cast<std::uint32_t>(added.size()));
    to_.append(added).append(added);
    put(std::uint64_t{1});
    put(static_cast<std::uint32_t>(added.size()));
    to_ += added;
  }

 private:
  static constexpr std::string_view added = "a later member";

  profkit::detail::own_string& to_;
};

/// The version of a format with one addition more.
constexpr profkit::detail::format_version later(profkit::detail::format_version format) {
  return {format.number, static_cast<std::uint16_t>(format.addition + 1)};
}

/// A frame of a journal.
inline profkit::detail::own_string journal_frame(profkit::detail::frame_kind kind, std::string_view content) {
  profkit::detail::frame_header header{kind, 0, content.size()};
  profkit::detail::checksum sum;
  profkit::detail::add_header(sum, header);
  sum.add(content);
  header.checksum = sum.value();
  profkit::detail::own_string result(sizeof header, '\0');
  std::memcpy(result.data(), &header, sizeof header);
  return result.append(content);
}

/// The content of the first frame of a journal that a later version writes.
inline profkit::detail::own_string later_frame(profkit::profile part) {
  profkit::detail::own_string result;
  later_writer archive{result};
  profkit::detail::for_each_member(part, part, [&](auto& member, auto const&) {
    if (!profkit::detail::is_growing<std::remove_reference_t<decltype(member)>>) archive.put(true);
    archive(member);
  });
  archive.put_lists();
  return result;
}
