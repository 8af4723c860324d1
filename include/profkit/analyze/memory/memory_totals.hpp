// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "../../profile/own_memory.hpp"
#include "../../profile/time.hpp"
#include "memory_changes.hpp"

namespace profkit::detail {

/// The usage of an allocator at every moment. Negative if releases exceed known allocations.
class memory_totals {
 public:
  /// @param changes in time order.
  memory_totals(std::uint64_t at_start, own_vector<memory_change> const& changes)
      : changes_{changes}, count_{changes.size() + 1}, max_(2 * count_) {
    // A segment tree in one array: the totals are in the second half; element i of the first half is the maximum of elements 2 i and 2 i +
    // 1.
    std::uint64_t total = at_start;
    max_[count_] = static_cast<std::int64_t>(total);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      total += changes[i].difference();
      max_[count_ + i + 1] = static_cast<std::int64_t>(total);
    }
    for (std::size_t i = count_; i-- > 1;) max_[i] = std::max(max_[2 * i], max_[2 * i + 1]);
  }

  /// @return the usage before the changes at a moment.
  [[nodiscard]] std::int64_t before(timestamp moment) { return max_[count_ + changes_until(moment, false)]; }

  /// @return the usage after the changes at a moment.
  [[nodiscard]] std::int64_t after(timestamp moment) { return max_[count_ + changes_until(moment, true)]; }

  /// @return the maximum from before the beginning of the interval to its end, inclusive. Takes logarithmic time, less if the interval is
  ///   close to the previous one.
  [[nodiscard]] std::int64_t max_in(interval const& time) {
    std::size_t last = count_ + changes_until(time.end, true) + 1;
    std::size_t first = count_ + changes_until(time.begin, false);
    std::int64_t result = std::numeric_limits<std::int64_t>::min();
    for (; first < last; first /= 2, last /= 2) {
      if (first % 2 != 0) result = std::max(result, max_[first++]);
      if (last % 2 != 0) result = std::max(result, max_[--last]);
    }
    return result;
  }

 private:
  /// The number of changes before a moment, optionally including those at the moment. Searches from the previous result in growing steps,
  /// because consecutive scopes end close to each other.
  [[nodiscard]] std::size_t changes_until(timestamp moment, bool is_included) {
    auto const is_before = [&](memory_change const& change) { return is_included ? change.time <= moment : change.time < moment; };
    std::size_t low = near_;
    std::size_t high = near_;
    std::size_t step = 1;
    if (low > 0 && !is_before(changes_[low - 1])) {
      for (; low > 0 && !is_before(changes_[low - 1]); step *= 2) {
        high = low - 1;
        low -= std::min(low, step);
      }
    } else {
      for (; high < changes_.size() && is_before(changes_[high]); step *= 2) {
        low = high + 1;
        high += std::min(changes_.size() - high, step);
      }
    }
    auto const at = [&](std::size_t position) { return changes_.begin() + static_cast<std::ptrdiff_t>(position); };
    near_ = static_cast<std::size_t>(std::partition_point(at(low), at(high), is_before) - changes_.begin());
    return near_;
  }

  own_vector<memory_change> const& changes_;
  std::size_t count_;             ///< number of totals: before the first change and after each
  own_vector<std::int64_t> max_;  ///< a segment tree
  std::size_t near_ = 0;
};

}  // namespace profkit::detail
