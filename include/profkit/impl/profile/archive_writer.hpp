// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
#include "flat_records.hpp"
#include "numbers.hpp"
#include "own_memory.hpp"
#include "record_fields.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// A destination for bytes.
class byte_output {
 public:
  virtual void write(std::string_view bytes) = 0;

 protected:
  ~byte_output() = default;
};

/// Appends bytes to a string.
template <class String>
class string_output final : public byte_output {
 public:
  explicit string_output(String& to) noexcept : to_{&to} {}
  void write(std::string_view bytes) override { to_->append(bytes); }

 private:
  String* to_;
};

/// Whether a value has its size before it in files. In a list, records of fixed size have it once, and a profile has none: it is the last
/// member of what contains it.
template <class T>
inline constexpr bool has_size = (is_record<T> || is_described<T>)&&!std::is_same_v<T, profile>;

/// Writes values as bytes. Numbers are in memory order (little endian, as on every platform with CUDA); texts, lists and records have a
/// length before them.
class archive_writer {
 public:
  static constexpr bool is_reader = false;

  explicit archive_writer(byte_output& to) : to_{to} {}

  template <class T>
  void operator()(T const& value) {
    if constexpr (is_number<T>) {
      char bytes[sizeof value];
      std::memcpy(bytes, &value, sizeof value);
      bytes_.append(bytes, sizeof value);
    } else if constexpr (std::is_enum_v<T>) {
      (*this)(static_cast<std::uint8_t>(value));
    } else if constexpr (has_size<T>) {
      write_with_size(value);
    } else {
      fields(*this, const_cast<T&>(value));  // `fields` lists the members for reading and writing
    }
  }
  void operator()(std::string const& text) { put_text(text); }
  void operator()(own_string const& text) { put_text(text); }
  template <class T, std::size_t N>
  void operator()(std::array<T, N> const& values) {
    for (T const& value : values) (*this)(value);
  }
  void operator()(timestamp const& value) { (*this)(std::int64_t{value.time_since_epoch().count()}); }
  void operator()(std::chrono::nanoseconds const& value) { (*this)(std::int64_t{value.count()}); }
  void operator()(milliseconds const& value) { (*this)(value.count()); }
  template <class T>
  void operator()(std::optional<T> const& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(own_vector<T> const& values) {
    list(values.data(), values.size());
  }
  template <class First, class Second>
  void operator()(std::pair<First, Second> const& value) {
    (*this)(value.first), (*this)(value.second);
  }
  template <class... T>
  void operator()(std::tuple<T...> const& value) {
    for_each_element(value, [&](auto const& each) { (*this)(each); });
  }
  template <class Key, class T>
  void operator()(std::map<Key, T> const& values) {
    collection(values);
  }
  template <class T>
  void operator()(std::set<T> const& values) {
    collection(values);
  }

  /// Writes values that are added to others after reading: see `archive_reader::amount`.
  template <class T>
  void amount(T const& value) {
    (*this)(value);
  }
  void begin_amounts() noexcept {}

  template <class T>
  void list(T const* values, std::size_t count) {
    begin_list<T>(count);
    elements(values, count);
  }

  /// Writes the length of a list.
  template <class T>
  void begin_list(std::size_t count) {
    (*this)(std::uint64_t{count});
    if constexpr (is_flat<T>) {
      if (count > 0) (*this)(std::uint32_t{bytes_in_file<T>()});
    }
  }

  /// Writes the values as the next elements of a list that has begun.
  template <class T>
  void elements(T const* values, std::size_t count) {
    if constexpr (is_flat<T>) {
      write_flat(values, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) (*this)(values[i]);
    }
  }

  /// Writes buffered bytes. To be called at the end.
  void flush() {
    to_.write(bytes_);
    bytes_.clear();
  }

 private:
  void put_text(std::string_view text) {
    (*this)(std::uint64_t{text.size()});
    bytes_ += text;
  }

  template <class Values>
  void collection(Values const& values) {
    (*this)(std::uint64_t{values.size()});
    for (auto const& each : values) (*this)(each);
  }

  /// Writes the number of bytes of a record, so that readers can skip members that they do not know, and the record.
  template <class T>
  void write_with_size(T const& value) {
    std::size_t const at = bytes_.size();
    (*this)(std::uint32_t{0});
    ++open_records_;
    fields(*this, const_cast<T&>(value));
    --open_records_;
    std::size_t const size = bytes_.size() - at - sizeof(std::uint32_t);
    if (size > std::numeric_limits<std::uint32_t>::max()) throw error{"a record takes more than 4 GiB"};
    auto const in_file = static_cast<std::uint32_t>(size);
    std::memcpy(&bytes_[at], &in_file, sizeof in_file);
  }

  template <class T>
  void write_flat(T const* values, std::size_t count) {
    constexpr std::size_t each = bytes_in_file<T>();
    constexpr std::size_t piece = 4096;  // at a time
    for (std::size_t i = 0; i < count; i += piece) {
      if (open_records_ == 0) flush();
      std::size_t const now = std::min(piece, count - i);
      std::size_t const at = bytes_.size();
      bytes_.resize(at + now * each);
      flat_archive<flat_writing> archive{{&bytes_[at]}};
      for (std::size_t k = i; k < i + now; ++k) fields(archive, const_cast<T&>(values[k]));
    }
  }

  byte_output& to_;
  own_string bytes_;              ///< bytes that are not written yet
  std::size_t open_records_ = 0;  ///< records in `bytes_` whose size is not known yet
};

}  // namespace PROFKIT_NAMESPACE::detail
