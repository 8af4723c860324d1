// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "../../../time.hpp"

namespace profkit::detail {

/// Computes the length of a union of intervals. Intervals are added in the order of their beginnings.
class union_length {
 public:
  /// @return whether the union grew.
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

/// The part of the union of all operations that a window adds: the union of its own operations without what operations of earlier windows
/// cover. Operations are added in the order of their beginnings.
class added_union {
 public:
  /// @param is_earlier the operation belongs to an earlier window.
  /// @return whether the union of all operations grew.
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
