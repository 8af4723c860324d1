// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"
#include "../record/calendar_clock.hpp"

namespace profkit::detail {

/// Moves the times of CUPTI's records, which are of CLOCK_REALTIME, to the clock of the session. Where that clock was set back, one reading
/// of it stands for several moments: an operation begins at the earliest of them that is not before its launch, and a call ends at the
/// earliest that is not before the end of the call before it on its thread.
class cupti_placement {
 public:
  explicit cupti_placement(calendar_clock const& clock) noexcept : clock_{clock} {}

  /// @param call of `profile::api_calls`; calls of a thread in the order of their ends.
  void place(api_call_record& call) {
    if (clock_.changes() == 0) return place_all(call.time);
    timestamp& latest = latest_ends_[call.thread];
    timestamp const end = first_from(latest, clock_.may_be(call.time.end));
    call.time = {last_until(end, clock_.may_be(call.time.begin)), end};
    latest = end;
  }

  /// @param calls with the launch of the operation, if it is known.
  void place(gpu_operation_record& operation, std::vector<api_call_record> const& calls) {
    if (clock_.changes() == 0) return place_all(operation.time);
    std::vector<timestamp> const begins = clock_.may_be(operation.time.begin);
    timestamp const launch = launches_.find(operation.correlation, calls);
    if (begins.size() > 1 && launch == timestamp{}) ++uncertain_;
    timestamp const begin = first_from(launch - clock_error, begins);
    operation.time = {begin, first_from(begin, clock_.may_be(operation.time.end))};
  }

  /// Operations that may have run at another moment: the launch is not known.
  [[nodiscard]] std::uint64_t uncertain() const noexcept { return uncertain_; }

 private:
  /// When what has a correlation was launched.
  class launch_table {
   public:
    /// @return the epoch if it is not known.
    timestamp find(std::uint64_t correlation, std::vector<api_call_record> const& calls) {
      for (; known_ < calls.size(); ++known_) begins_.emplace(calls[known_].correlation, calls[known_].time.begin);
      auto const found = begins_.find(correlation);
      return found == begins_.end() ? timestamp{} : found->second;
    }

   private:
    std::unordered_map<std::uint64_t, timestamp> begins_;
    std::size_t known_ = 0;
  };

  /// How much earlier than its launch an operation may seem to begin: CUPTI's times are interpolated.
  static constexpr std::chrono::nanoseconds clock_error{calendar_clock::min_change_ns};

  void place_all(interval& time) const noexcept { time = {clock_.at_calendar(time.begin), clock_.at_calendar(time.end)}; }

  static timestamp first_from(timestamp earliest, std::vector<timestamp> const& moments) {
    for (timestamp const each : moments) {
      if (each >= earliest) return each;
    }
    return moments.back();
  }

  static timestamp last_until(timestamp latest, std::vector<timestamp> const& moments) {
    for (auto each = moments.rbegin(); each != moments.rend(); ++each) {
      if (*each <= latest) return *each;
    }
    return moments.front();
  }

  calendar_clock const& clock_;
  launch_table launches_;
  std::unordered_map<std::uint32_t, timestamp> latest_ends_;  ///< of the calls of each thread
  std::uint64_t uncertain_ = 0;
};

}  // namespace profkit::detail
