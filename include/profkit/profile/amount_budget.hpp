// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>

#include "validate.hpp"
#include "wide_integer.hpp"

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

}  // namespace profkit::detail
