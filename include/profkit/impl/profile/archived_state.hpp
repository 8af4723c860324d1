// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../time.hpp"
#include "archive_reader.hpp"
#include "archive_writer.hpp"
#include "input_file.hpp"
#include "journal_format.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"
#include "wide_integer.hpp"

// Stores the state of an analysis in a file. Not portable between versions of profkit: a checksum of the layout rejects other versions.

namespace profkit::detail {

/// An archive that collects the types of the members, and the names of described members, instead of their values.
class layout_archive {
 public:
  static constexpr bool is_reader = false;

  template <class T>
  void operator()(T const& value) {
    if constexpr (is_number<T> || std::is_enum_v<T>) {
      text_ += (std::is_floating_point_v<T> ? 'f' : is_signed_number<T> ? 'i' : 'u') + std::to_string(sizeof(T));
    } else {
      text_ += '{';
      fields(*this, const_cast<T&>(value));  // `fields` lists the members for all archives
      text_ += '}';
    }
  }
  void operator()(std::string const&) { text_ += 's'; }
  void operator()(own_string const&) { text_ += 's'; }
  void operator()(timestamp const&) { text_ += 't'; }
  void operator()(std::chrono::nanoseconds const&) { text_ += 'n'; }
  void operator()(milliseconds const&) { text_ += "ms"; }
  template <class T, std::size_t N>
  void operator()(std::array<T, N> const&) {
    list(std::to_string(N), T{});
  }
  template <class T>
  void operator()(std::optional<T> const&) {
    list("?", T{});
  }
  template <class T>
  void operator()(own_vector<T> const&) {
    list("*", T{});
  }
  template <class T>
  void operator()(std::set<T> const&) {
    list("s", T{});
  }
  template <class Key, class T>
  void operator()(std::map<Key, T> const&) {
    list("m", Key{}, T{});
  }
  template <class First, class Second>
  void operator()(std::pair<First, Second> const& value) {
    list("p", value.first, value.second);
  }
  template <class... T>
  void operator()(std::tuple<T...> const&) {
    list("p", T{}...);
  }
  template <class T>
  void amount(T const& value) {
    (*this)(value);
  }
  void begin_amounts() noexcept {}
  void name(char const* member) { text_ += std::string{member} + ':'; }

  [[nodiscard]] std::string const& text() const noexcept { return text_; }

 private:
  template <class... T>
  void list(std::string const& what, T const&... values) {
    text_ += what + '(';
    ((*this)(values), ...);
    text_ += ')';
  }

  std::string text_;
};

/// A checksum of the types and order of all members that `fields` lists, and of the names of described members. It differs if a file of
/// another version is incompatible.
template <class State>
std::uint32_t state_layout() {
  // Must be increased if the meaning of a member changes while its type stays the same.
  constexpr char const* meaning = "1";
  layout_archive layout;
  layout(State{});
  checksum sum;
  sum.add(meaning);
  sum.add(layout.text());
  return sum.value();
}

/// Writes `state_layout` and the members.
template <class State>
void write_state(archive_writer& to, State const& state) {
  to(state_layout<State>());
  to(state);
}

/// Reads the output of `write_state`. Validates every number.
/// @throws profkit::error if another version of profkit wrote the state, or if it is damaged.
template <class State>
void read_state(archive_reader& from, State& state) {
  std::uint32_t layout = 0;
  from(layout);
  if (layout != state_layout<State>())
    throw error{"the figures were written by another version of profkit, whose figures have other members"};
  from(state);
}

/// The same for all bytes of a string.
template <class State>
void read_state(own_string const& bytes, State& state) {
  memory_stream stream{bytes};
  archive_reader archive{stream, bytes.size()};
  read_state(archive, state);
  check_read(archive.at_end(), "figures continue after their end");
}

}  // namespace profkit::detail
