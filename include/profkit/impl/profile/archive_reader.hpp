// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../../error.hpp"
#include "../../time.hpp"
#include "archive_writer.hpp"
#include "file_access.hpp"
#include "flat_records.hpp"
#include "journal_format.hpp"
#include "numbers.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"
#include "validate.hpp"

namespace profkit::detail {

/// Accepts amounts from a file that are added up later (durations, counts, and sums of products of durations) as long as their sum does not
/// overflow.
class amount_budget {
 public:
  /// @param value a duration, its nanoseconds, a count, a sum of products of two durations (`wide_integer`), or an array of these.
  /// @return false if the sum would overflow.
  template <class T>
  bool add(T const& value) noexcept {
    if constexpr (std::is_same_v<T, wide_integer>) {
      wide_integer const size = value < 0 ? -(value + 1) : value;
      bool const fits = size <= products_left_;
      if (fits) products_left_ -= size;
      return fits;
    } else if constexpr (std::is_unsigned_v<T>) {
      return value <= time_sum::max && sum_.add(std::chrono::nanoseconds{static_cast<std::int64_t>(value)});
    } else {
      return sum_.add(std::chrono::nanoseconds{value});
    }
  }
  template <class T, std::size_t N>
  bool add(std::array<T, N> const& values) noexcept {
    bool result = true;
    for (T const& value : values) result = result && add(value);
    return result;
  }
  template <class Key, class T>
  bool add(std::map<Key, T> const& values) noexcept {
    bool result = true;
    for (auto const& [key, value] : values) result = result && add(value);
    return result;
  }

 private:
  time_sum sum_;
  wide_integer products_left_ = wide_integer{time_sum::max} * time_sum::max;
};

/// Reads the output of `archive_writer`.
/// @throws profkit::error if the bytes end too early.
class archive_reader {
 public:
  static constexpr bool is_reader = true;

  /// @param bytes number of bytes in the file from its current position.
  archive_reader(std::istream& from, std::uint64_t bytes) : from_{from}, unread_{bytes} {}

  template <class T>
  void operator()(T& value) {
    if constexpr (is_number<T>) {
      std::string_view const bytes = take(sizeof value);
      std::memcpy(&value, bytes.data(), sizeof value);
    } else if constexpr (std::is_enum_v<T>) {
      std::uint8_t byte = 0;
      (*this)(byte);
      value = enum_of<T>(byte);
    } else {
      fields(*this, value);
    }
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    if (byte > 1) throw error{"the file is damaged: a truth value is " + std::to_string(byte)};
    value = byte == 1;
  }
  template <class T, std::size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }
  void operator()(std::string& text) { text = take(length(1)); }
  void operator()(own_string& text) { text.assign(take(length(1))); }
  void operator()(timestamp& value) { value = timestamp{ns()}; }
  void operator()(std::chrono::nanoseconds& value) { value = ns(); }
  void operator()(milliseconds& value) {
    double count = 0.0;
    (*this)(count);
    value = milliseconds{count};
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    value.reset();
    if (is_there) (*this)(value.emplace(T{}));
  }
  template <class T>
  void operator()(own_vector<T>& values) {
    std::size_t const count = length(1);
    values.clear();
    if constexpr (is_flat<T>) {
      constexpr std::size_t each = bytes_in_file<T>();
      if (count > left() / each) throw error{"the file is cut off"};
      values.reserve(count);
      constexpr std::size_t piece = 4096;  // at a time
      while (values.size() < count) {
        std::size_t const until = std::min(count, values.size() + piece);
        flat_archive<flat_reading> archive{{take((until - values.size()) * each).data()}};
        while (values.size() < until) fields(archive, values.emplace_back());
      }
    } else {
      constexpr std::size_t most = 64;  // a damaged length must not cause a large allocation of small elements
      values.reserve(std::min(count, most));
      while (values.size() < count) (*this)(values.emplace_back());
    }
  }
  template <class First, class Second>
  void operator()(std::pair<First, Second>& value) {
    (*this)(value.first), (*this)(value.second);
  }
  template <class... T>
  void operator()(std::tuple<T...>& value) {
    for_each_element(value, [&](auto& each) { (*this)(each); });
  }
  template <class Key, class T>
  void operator()(std::map<Key, T>& values) {
    values.clear();
    for (std::size_t left = length(1); left > 0; --left) {
      Key key{};
      (*this)(key);
      check(values.empty() || values.rbegin()->first < key, "the keys of a table are not in order");
      (*this)(values.emplace_hint(values.end(), std::move(key), T{})->second);
    }
  }
  template <class T>
  void operator()(std::set<T>& values) {
    values.clear();
    for (std::size_t left = length(1); left > 0; --left) {
      T value{};
      (*this)(value);
      check(values.empty() || *values.rbegin() < value, "the values of a set are not in order");
      values.insert(values.end(), std::move(value));
    }
  }

  /// Reads a value that is later added to others.
  /// @throws profkit::error if the sum of the values since `begin_amounts` could overflow.
  template <class T>
  void amount(T& value) {
    (*this)(value);
    check(amounts_.add(value), "its figures add up to more than 146 years");
  }

  /// Starts a new sum: values that are read from now on are not added to earlier values.
  void begin_amounts() noexcept { amounts_ = {}; }

  /// @throws profkit::error that says what is wrong.
  static void check(bool is_right, char const* what) { check_read(is_right, what); }

  [[nodiscard]] bool at_end() const noexcept { return left() == 0; }

 private:
  /// @return the next bytes, which are valid until the next call.
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) fetch(size);
    std::string_view const result = rest_.substr(0, size);
    rest_.remove_prefix(result.size());
    return result;
  }

  void fetch(std::uint64_t size) {
    if (size > left()) throw error{"the file is cut off"};
    constexpr std::uint64_t piece = std::uint64_t{1} << 20U;
    std::size_t const kept = rest_.size();
    std::size_t const wanted = static_cast<std::size_t>(std::min(std::max(size, piece) - kept, unread_));
    bytes_.erase(0, bytes_.size() - kept);
    bytes_.resize(kept + wanted);
    if (!from_.read(&bytes_[kept], static_cast<std::streamsize>(wanted))) throw error{"the file is cut off"};
    unread_ -= wanted;
    rest_ = bytes_;
  }

  [[nodiscard]] std::uint64_t left() const noexcept { return rest_.size() + unread_; }

  /// Reads a length. Rejects a length that exceeds the rest of the file, so that a damaged length does not cause a large allocation.
  std::size_t length(std::size_t min_bytes_each) {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > left() / min_bytes_each) throw error{"the file is cut off"};
    return count;
  }

  std::chrono::nanoseconds ns() {
    std::int64_t count = 0;
    (*this)(count);
    return std::chrono::nanoseconds{count};
  }

  std::istream& from_;
  std::uint64_t unread_;   ///< bytes left in the file
  own_string bytes_;       ///< the part of the file that was read last
  std::string_view rest_;  ///< the unread part of `bytes_`
  amount_budget amounts_;
};

}  // namespace profkit::detail

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
