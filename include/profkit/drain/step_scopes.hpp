// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "../profile/own_containers.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

/// The times of the steps' own scopes, as read from the logs, until `take`. A step has the times of its scope, so the two agree
/// independently of the clocks. All functions take logarithmic time if steps are read in the order in which they ran.
class step_scopes {
 public:
  /// A step's scope begins. @param ticks identifies the step: `raw_step::begin_ticks`.
  void begin(std::uint64_t ticks, timestamp time) {
    if (times_.size() == max_times) times_.pop_front();
    times_.insert(at(ticks), {ticks, {time, time}});  // at the end, except if steps run on several threads, which are read in turn
  }

  /// A step's scope ends. @param time time of the scope.
  void end(interval const& time) {
    auto const found = std::find_if(times_.rbegin(), times_.rend(), [&](entry const& each) { return each.time.begin <= time.begin; });
    if (found != times_.rend() && found->time.begin == time.begin) found->time.end = time.end;
  }

  /// The time of a step's scope. The interval is empty if the end of the scope is unknown. Returns nothing if the scope was not recorded.
  /// Must be called for steps in the order in which they ran. Removes the times of earlier steps.
  [[nodiscard]] std::optional<interval> take(std::uint64_t ticks) {
    times_.erase(times_.begin(), at(ticks));
    if (times_.empty() || times_.front().ticks != ticks) return std::nullopt;
    return times_.front().time;
  }

 private:
  /// Limits the list if steps are never taken, such as steps of a session that no longer records while another session does. More steps
  /// than a slice of the logs can have (`log_reader::slots_of_slice`).
  static constexpr std::size_t max_times = 131'072;

  struct entry {
    std::uint64_t ticks;
    interval time;
  };

  /// The first entry that is not earlier. The usual places are tried first.
  [[nodiscard]] own_deque<entry>::iterator at(std::uint64_t ticks) {
    if (times_.empty() || times_.back().ticks < ticks) return times_.end();
    if (ticks <= times_.front().ticks) return times_.begin();
    return std::lower_bound(times_.begin(), times_.end(), ticks,
                            [](entry const& each, std::uint64_t wanted) { return each.ticks < wanted; });
  }

  own_deque<entry> times_;  ///< by `ticks`
};

}  // namespace profkit::detail
