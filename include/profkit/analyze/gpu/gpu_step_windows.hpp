// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "../../profile/check_read.hpp"
#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "attribution.hpp"
#include "counted_operations.hpp"

namespace profkit::detail {

/// When the devices did the work of one step.
struct gpu_step_window {
  std::size_t step = 0;  ///< position in `profile::steps`
  interval time;
  /// Steps that had begun on the host, after this one, when its work was complete; n/a if it launched nothing.
  std::optional<std::uint64_t> steps_ahead;

  template <class Archive>
  friend void fields(Archive& archive, gpu_step_window& state) {
    archive(state.step), archive(state.time), archive(state.steps_ahead);
    if constexpr (Archive::is_reader) {
      archive.check(timestamp{} <= state.time.begin && state.time.begin <= state.time.end, "a step ends on the devices before it begins");
    }
  }
};

/// The windows of the steps in which kernels were collected, in the order of time. Those of the measured steps do not overlap, and every
/// operation launched in a measured step lies in them: the time in which the devices are busy with these operations cannot exceed them.
///
/// The window of a step ends with the last operation that was launched in the step. It begins when all that was launched before has
/// completed; not before the step begins on the host, where the devices wait for it; and at the latest with the first operation of this
/// step or a later one, which may run beside earlier work. So the windows of a host that waits for the devices in each step lie in its
/// steps, and those of a host that runs ahead follow each other without a gap.
///
/// Steps after the last one that launched something have no window: their operations may be missing, as in the journal of a program that
/// was killed.
struct gpu_step_windows {
  std::vector<gpu_step_window> warmup;
  std::vector<gpu_step_window> measured;
};

/// When the last windows ended.
struct gpu_step_window_ends {
  timestamp warmup = timestamp::min();
  timestamp measured = timestamp::min();

  template <class Archive>
  friend void fields(Archive& archive, gpu_step_window_ends& state) {
    archive(state.warmup), archive(state.measured);
  }
};

/// Refuses windows from a file that overlap, or are not in the order of time.
inline void check_windows(std::vector<gpu_step_window> const& windows) {
  for (std::size_t i = 1; i < windows.size(); ++i) {
    check_read(windows[i - 1].time.end <= windows[i].time.begin, "steps overlap on the devices");
  }
}

/// What lies in a stretch of time of each, without those that take no time there.
inline std::vector<interval> parts_in(std::vector<gpu_step_window> const& windows, interval const& own) {
  std::vector<interval> result;
  for (gpu_step_window const& each : windows) {
    interval const part{std::max(each.time.begin, own.begin), std::min(each.time.end, own.end)};
    if (part.begin < part.end) result.push_back(part);
  }
  return result;
}

/// Takes time in proportion to the operations, n log n if their launches are out of order.
class gpu_step_window_finder {
 public:
  gpu_step_window_finder(profile const& profile, attribution const& launched)
      : of_{profile}, order_(profile.steps.size()), own_(profile.steps.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return profile.steps[a].time.begin < profile.steps[b].time.begin; });
    begins_.reserve(order_.size());
    for (std::size_t const step : order_) begins_.push_back(profile.steps[step].time.begin);
    earlier_end_.assign(order_.size() + 1, timestamp::min());
    for (std::size_t i = 0; i < profile.gpu_operations.size(); ++i)
      add(profile.gpu_operations[i].time, launch_moment(profile, launched, i));
    for (std::size_t i = 1; i < earlier_end_.size(); ++i) earlier_end_[i] = std::max(earlier_end_[i], earlier_end_[i - 1]);
  }

  /// @param from the first step that begins then or later is the first one to have a window.
  /// @param before the ends of the last windows of earlier steps.
  [[nodiscard]] gpu_step_windows find(timestamp from = timestamp::min(), gpu_step_window_ends const& before = {}) const {
    std::vector<std::size_t> warmup;
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < steps_with_work_; ++i) {
      step_record const& step = of_.steps[order_[i]];
      if (step.time.begin < from) continue;
      if (step.has_kernels && step.warmup) warmup.push_back(i);
      if (step.has_kernels && step.is_measured()) measured.push_back(i);
    }
    return {windows(warmup, before.warmup), windows(measured, before.measured)};
  }

 private:
  void add(interval const& operation, timestamp launch) {
    std::size_t const begun = steps_begun_at(launch);
    earlier_end_[begun] = std::max(earlier_end_[begun], operation.end);
    if (begun == 0) return;
    interval const& step = of_.steps[order_[begun - 1]].time;
    if (launch >= step.end && launch != step.begin) return;
    own_[begun - 1].add(operation);
    steps_with_work_ = std::max(steps_with_work_, begun);
  }

  /// Launches are mostly in the step of the launch before.
  [[nodiscard]] std::size_t steps_begun_at(timestamp moment) {
    bool const is_same =
        (last_begun_ == 0 || begins_[last_begun_ - 1] <= moment) && (last_begun_ == begins_.size() || moment < begins_[last_begun_]);
    if (!is_same) last_begun_ = count_begun(moment);
    return last_begun_;
  }

  [[nodiscard]] std::size_t count_begun(timestamp moment) const {
    return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), moment) - begins_.begin());
  }

  /// @param steps positions in `order_`, in increasing order.
  /// @param end of the last window before.
  [[nodiscard]] std::vector<gpu_step_window> windows(std::vector<std::size_t> const& steps, timestamp end) const {
    std::vector<timestamp> first_start(steps.size() + 1, timestamp::max());  // of what was launched in a step or in a later one
    for (std::size_t i = steps.size(); i-- > 0;) first_start[i] = std::min(first_start[i + 1], own_[steps[i]].begin);
    std::vector<gpu_step_window> result;
    result.reserve(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::size_t const step = steps[i];
      timestamp const earlier_work_done = std::max(begins_[step], earlier_end_[step]);
      timestamp const begin = std::max(end, std::min(earlier_work_done, first_start[i]));
      end = std::max(begin, own_[step].end);
      result.push_back({order_[step], {begin, end}, std::nullopt});
      if (own_[step].is_empty()) continue;
      std::size_t const begun = count_begun(own_[step].end);
      result.back().steps_ahead = begun > step + 1 ? begun - step - 1 : 0;
    }
    return result;
  }

  profile const& of_;
  std::vector<std::size_t> order_;      ///< positions in `profile::steps`, in the order of time
  std::vector<timestamp> begins_;       ///< of the steps, in that order
  std::vector<operation_span> own_;     ///< operations launched in each step, in that order
  std::vector<timestamp> earlier_end_;  ///< by number of steps begun: the latest end of what was launched by then
  std::size_t steps_with_work_ = 0;     ///< up to the last step that launched something
  std::size_t last_begun_ = 0;
};

}  // namespace profkit::detail
