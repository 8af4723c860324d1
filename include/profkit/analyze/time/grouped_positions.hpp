// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../profile/own_memory.hpp"
#include "../../profile/own_sort.hpp"
#include "../../profile/time.hpp"

namespace profkit::detail {

/// Positions of records by group, stored contiguously.
class grouped_positions {
 public:
  struct range {
    std::uint32_t const* first = nullptr;
    std::uint32_t const* last = nullptr;

    [[nodiscard]] std::uint32_t const* begin() const noexcept { return first; }
    [[nodiscard]] std::uint32_t const* end() const noexcept { return last; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(last - first); }
    [[nodiscard]] std::uint32_t operator[](std::size_t i) const noexcept { return first[i]; }
  };

  grouped_positions() = default;

  /// Sorts each group by time; records with equal times keep their order.
  /// @param group_of the group of a position, below `groups`; or `groups` for a record without a group.
  template <class GroupOf, class TimeOf>
  grouped_positions(std::size_t records, std::size_t groups, GroupOf const& group_of, TimeOf const& time_of) : ends_(groups + 1) {
    own_vector<std::size_t> sizes(groups + 1);
    for (std::uint32_t i = 0; i < records; ++i) ++sizes[group_of(i)];
    for (std::size_t group = 1; group < groups; ++group) ends_[group] = ends_[group - 1] + sizes[group - 1];
    positions_.resize(records - sizes[groups]);
    own_vector<timestamp> last(groups, timestamp::min());
    own_vector<bool> is_sorted(groups, true);
    for (std::uint32_t i = 0; i < records; ++i) {
      std::size_t const group = group_of(i);
      if (group == groups) continue;
      positions_[ends_[group]++] = i;
      timestamp const time = time_of(i);
      if (time < last[group]) is_sorted[group] = false;
      last[group] = time;
    }
    ends_.pop_back();
    for (std::size_t group = 0; group < groups; ++group) {
      if (is_sorted[group]) continue;
      own_stable_sort(positions_.data() + begin_of(group), positions_.data() + ends_[group],
                      [&](std::uint32_t a, std::uint32_t b) { return time_of(a) < time_of(b); });
    }
  }

  [[nodiscard]] range operator[](std::size_t group) const {
    return {positions_.data() + begin_of(group), positions_.data() + ends_[group]};
  }

 private:
  [[nodiscard]] std::size_t begin_of(std::size_t group) const { return group == 0 ? 0 : ends_[group - 1]; }

  own_vector<std::size_t> ends_;  ///< end of each group
  own_vector<std::uint32_t> positions_;
};

}  // namespace profkit::detail
