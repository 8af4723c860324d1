// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "../../../time.hpp"

namespace profkit::detail {

/// Figures that depend on the neighbouring stretches of time, such as sums over consecutive steps. Stretches may come in any order;
/// adjacent ones are joined, so one stretch remains if none is missing.
/// @tparam Part has `append(Part const& next)`.
template <class Part>
class joined_stretches {
 public:
  struct joined {
    interval time;
    Part& part;  ///< valid until the next call of `add`
  };

  /// @param time overlaps no earlier stretch.
  /// @return the joined stretch that now contains it.
  joined add(interval const& time, Part part) {
    auto at = stretches_.emplace(time.begin, stretch{time.end, std::move(part)}).first;
    if (at != stretches_.begin() && std::prev(at)->second.end == time.begin) at = join(std::prev(at));
    if (auto const next = std::next(at); next != stretches_.end() && next->first == at->second.end) join(at);
    return {{at->first, at->second.end}, at->second.part};
  }

  /// Whether a condition holds for the figures of all stretches.
  template <class Condition>
  [[nodiscard]] bool all_of(Condition const& holds) const {
    return std::all_of(stretches_.begin(), stretches_.end(), [&](auto const& each) { return holds(each.second.part); });
  }

  /// @param change called with the figures of each stretch.
  template <class Change>
  void change_each(Change const& change) {
    for (auto& [begin, each] : stretches_) change(each.part);
  }

  /// Whether one stretch contains the interval, including its end.
  [[nodiscard]] bool covers(interval const& time) const {
    auto const after = stretches_.upper_bound(time.begin);
    return after != stretches_.begin() && time.end < std::prev(after)->second.end;
  }

  /// Joins all stretches in time order, as if they were adjacent.
  [[nodiscard]] Part whole() && {
    if (stretches_.empty()) return {};
    Part result = std::move(stretches_.begin()->second.part);
    for (auto each = std::next(stretches_.begin()); each != stretches_.end(); ++each) result.append(each->second.part);
    return result;
  }

 private:
  struct stretch {
    timestamp end;
    Part part;

    template <class Archive>
    friend void fields(Archive& archive, stretch& state) {
      archive(state.end), archive(state.part);
    }
  };

  template <class Archive>
  friend void fields(Archive& archive, joined_stretches& state) {
    archive(state.stretches_);
    if constexpr (Archive::is_reader) {
      for (auto each = state.stretches_.begin(); each != state.stretches_.end(); ++each) {
        auto const next = std::next(each);
        bool const is_right = each->first <= each->second.end && (next == state.stretches_.end() || each->second.end < next->first);
        archive.check(is_right, "stretches of time overlap");
      }
    }
  }

  using iterator = typename std::map<timestamp, stretch>::iterator;

  /// Joins a stretch with the next one.
  iterator join(iterator first) {
    auto const next = std::next(first);
    first->second.part.append(next->second.part);
    first->second.end = next->second.end;
    stretches_.erase(next);
    return first;
  }

  std::map<timestamp, stretch> stretches_;  ///< by their beginnings
};

}  // namespace profkit::detail
