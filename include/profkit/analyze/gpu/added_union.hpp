// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "../../profile/time.hpp"

namespace profkit::detail {

/// Length of the union of intervals, which are added in the order in which they begin.
class union_length {
 public:
  /// Whether it grew.
  bool add(interval const& time) {
    if (time.end <= covered_until_) return false;
    length_ += time.end - std::max(time.begin, covered_until_);
    covered_until_ = time.end;
    return true;
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return length_; }

 private:
  timestamp covered_until_ = timestamp::min();
  std::chrono::nanoseconds length_{};
};

/// Union of the intervals of a window's own operations, less what operations of earlier windows cover of it: what it adds to the union of
/// all. Operations are added in the order in which they begin.
class added_union {
 public:
  /// @param is_earlier it is of an earlier window.
  /// @return whether the union of all grew.
  bool add(interval const& time, bool is_earlier) {
    if (is_earlier) earlier_.add(time);
    return all_.add(time);
  }

  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return all_.length() - earlier_.length(); }

 private:
  union_length all_;
  union_length earlier_;
};

}  // namespace profkit::detail
