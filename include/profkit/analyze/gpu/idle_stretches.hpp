// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "../../profile/own_memory.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../time/measured_time.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace profkit::detail {

/// An interval in a measured step without a running operation on any device.
struct idle_stretch {
  interval time;
  std::uint32_t next_launch = attribution::none;  ///< the API call that launched the operation that ends it; `none` if unknown

  /// The operation that ends it was already launched, but had not started.
  bool is_queued = false;

  std::size_t step = 0;  ///< the step that contains it: position in `measured_time::steps`
};

/// Clips intervals to the measured steps. Intervals are given in time order.
class step_clip {
 public:
  explicit step_clip(measured_time const& when) : first_{when.steps().begin()}, next_{first_}, last_{when.steps().end()} {}

  /// @param visit called with each part and the position of its step.
  template <class Visit>
  void operator()(interval const& whole, Visit const& visit) {
    skip_to(whole.begin);
    for (auto step = next_; step != last_ && step->begin < whole.end; ++step) {
      visit(interval{std::max(step->begin, whole.begin), std::min(step->end, whole.end)}, static_cast<std::size_t>(step - first_));
    }
  }

  /// @return the position of the step that contains the interval; n/a if no single step contains all of it.
  [[nodiscard]] std::optional<std::size_t> step_around(interval const& whole) {
    skip_to(whole.begin);
    if (next_ == last_ || whole.begin < next_->begin || next_->end < whole.end) return std::nullopt;
    auto const after = std::next(next_);
    if (after != last_ && after->begin < whole.end) return std::nullopt;
    return static_cast<std::size_t>(next_ - first_);
  }

 private:
  void skip_to(timestamp moment) {
    while (next_ != last_ && next_->end <= moment) ++next_;
  }

  own_vector<interval>::const_iterator first_;
  own_vector<interval>::const_iterator next_;
  own_vector<interval>::const_iterator last_;
};

/// Finds the idle stretches, in time order. If the operation that ends a stretch was launched during the stretch, the stretch is cut at the
/// end of the launching call.
inline own_vector<idle_stretch> find_idle_stretches(profile const& profile, attribution const& launched, measured_time const& when,
                                                    counted_operations const& operations) {
  own_vector<idle_stretch> result;
  step_clip clip{when};
  auto const add = [&](timestamp from, timestamp to, std::uint32_t next_launch, bool is_queued) {
    if (from < to)
      clip({from, to}, [&](interval const& part, std::size_t step) { result.push_back({part, next_launch, is_queued, step}); });
  };
  timestamp busy_until = timestamp::min();
  for (timed_operation const& each : operations.all()) {
    interval const& time = each.time;
    if (time.begin > busy_until) {
      std::uint32_t const launch = launched.launch_of[each.record];
      timestamp const launched_at =
          launch == attribution::none ? time.begin : std::clamp(profile.api_calls[launch].time.end, busy_until, time.begin);
      add(busy_until, launched_at, launch, false);
      add(launched_at, time.begin, launch, true);
    }
    busy_until = std::max(busy_until, time.end);
  }
  add(busy_until, timestamp::max(), attribution::none, false);
  return result;
}

}  // namespace profkit::detail
