// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace profkit::detail {

/// The positions of some records in the order of a number that each has. Takes linear time if the numbers are spread evenly, as times and
/// correlations nearly are; n log n at worst. Equal numbers keep their order.
class bucket_order {
 public:
  explicit bucket_order(std::vector<std::uint64_t> const& numbers) : positions_(numbers.size()) {
    if (numbers.empty()) return;
    auto const [least, highest] = std::minmax_element(numbers.begin(), numbers.end());
    least_ = *least;
    while ((*highest - least_) >> shift_ >= numbers.size()) ++shift_;
    ends_.resize(bucket_of(*highest) + 2);
    for (std::uint64_t const number : numbers) ++ends_[bucket_of(number) + 1];
    for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
    for (std::uint32_t i = 0; i < numbers.size(); ++i) positions_[ends_[bucket_of(numbers[i])]++] = i;
    ends_.pop_back();
    auto const before = [&](std::uint32_t a, std::uint32_t b) { return numbers[a] != numbers[b] ? numbers[a] < numbers[b] : a < b; };
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] - begin_of(i) > 1) std::sort(positions_.begin() + begin_of(i), positions_.begin() + ends_[i], before);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> const& positions() const& noexcept { return positions_; }
  [[nodiscard]] std::vector<std::uint32_t> positions() && noexcept { return std::move(positions_); }

  /// The first of the records with the number; `none` if there is none.
  /// @param number_of gives the number at a position, as it was.
  template <class NumberOf>
  [[nodiscard]] std::uint32_t find(std::uint64_t number, NumberOf number_of, std::uint32_t none) const {
    if (number < least_ || bucket_of(number) >= ends_.size()) return none;
    std::size_t const bucket = bucket_of(number);
    auto const last = positions_.begin() + ends_[bucket];
    auto const found = std::lower_bound(positions_.begin() + begin_of(bucket), last, number,
                                        [&](std::uint32_t each, std::uint64_t wanted) { return number_of(each) < wanted; });
    return found != last && number_of(*found) == number ? *found : none;
  }

 private:
  [[nodiscard]] std::size_t bucket_of(std::uint64_t number) const { return static_cast<std::size_t>((number - least_) >> shift_); }
  [[nodiscard]] std::uint32_t begin_of(std::size_t bucket) const { return bucket == 0 ? 0 : ends_[bucket - 1]; }

  std::uint64_t least_ = 0;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> ends_;  ///< by bucket
  std::vector<std::uint32_t> positions_;
};

}  // namespace profkit::detail
