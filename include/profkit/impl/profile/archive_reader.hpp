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

namespace PROFKIT_NAMESPACE::detail {

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
      value = enum_of<T>(byte, is_newer_);
    } else if constexpr (has_size<T>) {
      read_with_size(value);
    } else if constexpr (std::is_same_v<T, profile>) {
      known_members members{*this};
      fields(members, value);
    } else {
      fields(*this, value);
    }
  }
  void operator()(bool& value) {
    std::uint8_t byte = 0;
    (*this)(byte);
    value = truth_of(byte);
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
    values.clear();
    std::size_t const count = length(1);
    if constexpr (is_flat<T>) {
      if (count > 0) read_flat(values, count);
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

  /// Expects more members and lists in a newer file, and fewer in an older one.
  void set_format(format_version const& found, format_version const& own) noexcept {
    is_newer_ = found.addition > own.addition;
    is_older_ = found.addition < own.addition;
  }

  /// Whether the rest lacks members because an older version wrote it.
  [[nodiscard]] bool lacks_the_rest() const noexcept { return is_older_ && at_end(); }

  /// Skips what a newer version added to the end.
  /// @throws profkit::error if the file is not newer.
  void skip_the_rest() {
    constexpr std::uint64_t piece = std::uint64_t{1} << 20U;
    if (!at_end() && !is_newer_) throw error{"the file is damaged: unexpected bytes after the end"};
    while (!at_end()) take((std::min)(left(), piece));
  }

 private:
  /// Reads the members of a record; members that its bytes lack keep their values.
  struct known_members {
    static constexpr bool is_reader = true;
    archive_reader& from;
    template <class T>
    void operator()(T& member) {
      if (!from.lacks_the_rest()) from(member);
    }
  };

  template <class T>
  void read_with_size(T& value) {
    std::uint32_t size = 0;
    (*this)(size);
    if (size > left()) throw error{"the file is cut off"};
    std::uint64_t const after = left() - size;
    after_record_ += after;
    known_members members{*this};
    fields(members, value);
    skip_the_rest();
    after_record_ -= after;
  }

  /// Reads records of fixed size. A record in a file of another version can have more or fewer members.
  template <class T>
  void read_flat(own_vector<T>& values, std::size_t count) {
    constexpr std::size_t each = bytes_in_file<T>();
    std::uint32_t in_file = 0;
    (*this)(in_file);
    constexpr std::size_t min = each / 8;  // so that small records in the file do not become large ones in memory
    bool const is_right = in_file == each || (is_newer_ && in_file > each) || (is_older_ && in_file < each && in_file > min);
    if (!is_right) throw error{"the file is damaged: records have another size"};
    if (count > left() / in_file) throw error{"the file is cut off"};
    values.reserve(count);
    std::size_t const piece = in_file == each ? 4096 : 1;  // at a time
    while (values.size() < count) {
      std::size_t const until = std::min(count, values.size() + piece);
      std::string_view const bytes = take((until - values.size()) * in_file);
      char whole[each];
      if (in_file < each) {
        T with_defaults{};
        flat_archive<flat_writing> defaults{{whole}};
        fields(defaults, with_defaults);
        bytes.copy(whole, bytes.size());
      }
      flat_archive<flat_reading> archive{{in_file < each ? whole : bytes.data(), is_newer_}};
      while (values.size() < until) fields(archive, values.emplace_back());
    }
  }

  /// @return the next bytes, which are valid until the next call.
  std::string_view take(std::uint64_t size) {
    if (size > left()) throw error{"the file is cut off"};
    if (size > rest_.size()) fetch(size);
    std::string_view const result = rest_.substr(0, size);
    rest_.remove_prefix(result.size());
    return result;
  }

  void fetch(std::uint64_t size) {
    constexpr std::uint64_t piece = std::uint64_t{1} << 20U;
    std::size_t const kept = rest_.size();
    std::size_t const wanted = static_cast<std::size_t>(std::min(std::max(size, piece) - kept, unread_));
    bytes_.erase(0, bytes_.size() - kept);
    bytes_.resize(kept + wanted);
    if (!from_.read(&bytes_[kept], static_cast<std::streamsize>(wanted))) throw error{"the file is cut off"};
    unread_ -= wanted;
    rest_ = bytes_;
  }

  /// The unread bytes of the record that is being read, or of the file.
  [[nodiscard]] std::uint64_t left() const noexcept { return rest_.size() + unread_ - after_record_; }

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
  std::uint64_t after_record_ = 0;  ///< unread bytes after the record that is being read
  bool is_newer_ = false;           ///< see `set_format`
  bool is_older_ = false;
};

/// Writes `figures_format` and the members of the state of an analysis.
template <class State>
void write_state(archive_writer& to, State const& state) {
  to(figures_format);
  to(state);
}

/// Reads the output of `write_state`. Validates every number.
/// @throws profkit::error if another version of profkit wrote the state, or if it is damaged.
template <class State>
void read_state(archive_reader& from, State& state) {
  std::uint32_t format = 0;
  from(format);
  if (format != figures_format) throw error{"the figures were written by another version of profkit, whose figures have other members"};
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

}  // namespace PROFKIT_NAMESPACE::detail
