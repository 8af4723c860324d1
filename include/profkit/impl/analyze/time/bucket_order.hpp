// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../profile/own_memory.hpp"

namespace profkit::detail {

/// Sorts positions of records by a number. Takes linear time if the numbers are spread evenly, as times and correlations are; n log n in
/// the worst case. Stable.
class bucket_order {
 public:
  explicit bucket_order(own_vector<std::uint64_t> const& numbers) : positions_(numbers.size()) {
    if (numbers.empty()) return;
    auto const [least, highest] = std::minmax_element(numbers.begin(), numbers.end());
    unsigned shift = 0;
    while ((*highest - *least) >> shift >= numbers.size()) ++shift;
    auto const bucket_of = [&, first = *least](std::uint64_t number) { return std::size_t{(number - first) >> shift}; };
    own_vector<std::uint32_t> ends(bucket_of(*highest) + 2);  // end of each bucket
    for (std::uint64_t const number : numbers) ++ends[bucket_of(number) + 1];
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
    for (std::uint32_t i = 0; i < numbers.size(); ++i) positions_[ends[bucket_of(numbers[i])]++] = i;
    ends.pop_back();
    auto const before = [&](std::uint32_t a, std::uint32_t b) { return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : a < b; };
    std::uint32_t begin = 0;
    for (std::uint32_t const end : ends) {
      if (end - begin > 1) std::sort(positions_.begin() + begin, positions_.begin() + end, before);
      begin = end;
    }
  }

  [[nodiscard]] own_vector<std::uint32_t> const& positions() const& noexcept { return positions_; }
  [[nodiscard]] own_vector<std::uint32_t> positions() && noexcept { return std::move(positions_); }

 private:
  own_vector<std::uint32_t> positions_;
};

}  // namespace profkit::detail
