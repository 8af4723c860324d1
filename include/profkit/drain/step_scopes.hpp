// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "../profile/own_memory.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

/// The times of the steps' own scopes, as read from the logs, until `take`. A step has the times of its scope, so the two agree
/// independently of the clocks.
class step_scopes {
 public:
  /// A step's scope begins. @param ticks identifies the step: `raw_step::begin_ticks`.
  void begin(std::uint64_t ticks, timestamp time) {
    if (times_.size() == max_times) times_.pop_front();
    times_.push_back({ticks, {time, time}});
  }

  /// A step's scope ends. @param time time of the scope.
  void end(interval const& time) {
    auto const found = std::find_if(times_.rbegin(), times_.rend(), [&](entry const& each) { return each.time.begin == time.begin; });
    if (found != times_.rend()) found->time.end = time.end;
  }

  /// Takes the time of a step's scope. The interval is empty if the end of the scope is unknown. Returns nothing if the scope was not
  /// recorded. Steps must be taken in the order in which they ran. Taking a step also removes the times of abandoned steps before it.
  [[nodiscard]] std::optional<interval> take(std::uint64_t ticks) {
    auto const found = std::find_if(times_.begin(), times_.end(), [&](entry const& each) { return each.ticks == ticks; });
    if (found == times_.end()) return std::nullopt;
    interval const time = found->time;
    times_.erase(times_.begin(), std::next(found));
    return time;
  }

 private:
  /// Limits the list if steps are never taken, such as steps of a session that no longer records while another session does.
  static constexpr std::size_t max_times = 65'536;

  struct entry {
    std::uint64_t ticks;
    interval time;
  };

  own_deque<entry> times_;
};

}  // namespace profkit::detail
