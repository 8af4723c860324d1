// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "../profile/own_containers.hpp"
#include "../profile/profile_builder.hpp"
#include "../profile/time.hpp"
#include "../record/calendar_clock.hpp"

namespace profkit::detail {

/// Converts times of CUPTI records (CLOCK_REALTIME) to the clock of the session. If CLOCK_REALTIME was set back, one value can mean several
/// moments, and the earliest possible one is chosen. An operation cannot begin before its launch, and a call cannot end before the previous
/// call of its thread.
class cupti_placement {
 public:
  explicit cupti_placement(calendar_clock const& clock) noexcept : clock_{clock} {}

  /// To be called before operations are recorded.
  void begin() noexcept { began_ = clock_.now(); }

  /// To be called after records were read and before their times are checked.
  void look() noexcept { now_ = clock_.now(); }

  /// @param call calls of one thread must be passed in the order of their ends.
  void place(api_call_record& call) {
    if (clock_.changes() == 0) return place_all(call.time);
    timestamp& latest = latest_ends_[call.thread];
    timestamp const end = first_from(latest, clock_.may_be(call.time.end));
    call.time = {last_until(end, clock_.may_be(call.time.begin)), end};
    latest = end;
  }

  /// @param known contains the launch of the operation, if it was recorded.
  void place(gpu_operation_record& operation, profile_builder& known) {
    if (clock_.changes() == 0) return place_all(operation.time);
    own_vector<timestamp> const begins = clock_.may_be(operation.time.begin);
    std::optional<timestamp> const launch = known.launch_time(operation.correlation);
    if (begins.size() > 1 && !launch) known.count(&quality_record::uncertain_operations);
    timestamp const begin = first_from(launch.value_or(timestamp{}) - clock_error, begins);
    operation.time = {begin, first_from(begin, clock_.may_be(operation.time.end))};
  }

  /// Whether a placed call can have this time.
  [[nodiscard]] bool is_possible(api_call_record const& call) const noexcept { return is_possible(call.time); }

  /// Whether a placed operation can have this time. CUPTI has reported operations that began before their launches, at the beginning of the
  /// epoch, and in other centuries.
  [[nodiscard]] bool is_possible(gpu_operation_record const& operation, profile_builder const& known) const noexcept {
    std::optional<timestamp> const launch = known.launch_time(operation.correlation);
    return is_possible(operation.time) && (!launch || operation.time.begin >= *launch - clock_error);
  }

 private:
  [[nodiscard]] bool is_possible(interval const& time) const noexcept {
    return time.begin <= time.end && time.begin >= began_ - clock_error && time.end <= now_ + clock_error;
  }

  /// An operation may appear to begin this much before its launch, because CUPTI interpolates times.
  static constexpr std::chrono::nanoseconds clock_error{calendar_clock::min_change_ns};

  void place_all(interval& time) const noexcept { time = {clock_.at_calendar(time.begin), clock_.at_calendar(time.end)}; }

  static timestamp first_from(timestamp earliest, own_vector<timestamp> const& moments) {
    for (timestamp const each : moments) {
      if (each >= earliest) return each;
    }
    return moments.back();
  }

  static timestamp last_until(timestamp latest, own_vector<timestamp> const& moments) {
    for (auto each = moments.rbegin(); each != moments.rend(); ++each) {
      if (*each <= latest) return *each;
    }
    return moments.front();
  }

  calendar_clock const& clock_;
  timestamp began_ = timestamp::min() + clock_error;
  timestamp now_ = timestamp::max() - clock_error;
  own_hash_map<std::uint32_t, timestamp> latest_ends_;  ///< the end of the latest call of each thread
};

}  // namespace profkit::detail
