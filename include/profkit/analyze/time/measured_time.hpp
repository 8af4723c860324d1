// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"

namespace profkit::detail {

/// The indices of the measured steps that begin in a stretch of time.
inline std::set<std::uint64_t> measured_steps_in(profile const& profile, interval const& own) {
  std::set<std::uint64_t> result;
  for (step_record const& step : profile.steps) {
    if (step.is_measured() && own.begin <= step.time.begin && step.time.begin < own.end) result.insert(step.index);
  }
  return result;
}

/// Which moments count: those inside a measured step, or all of them where no step was made.
class measured_time {
 public:
  explicit measured_time(profile const& profile) : has_steps_{had_steps(profile)} {
    for (step_record const& step : profile.steps) {
      if (step.is_measured()) measured_.push_back(step.time);
    }
    sort();
  }

  /// Only in the steps in which kernels were collected, where there were steps.
  [[nodiscard]] static measured_time with_kernels(profile const& profile) {
    measured_time result;
    result.has_steps_ = had_steps(profile);
    for (step_record const& step : profile.steps) {
      if (step.is_measured() && step.has_kernels) result.measured_.push_back(step.time);
    }
    result.sort();
    return result;
  }

  /// The steps that begin in a stretch of time; in a session without steps the whole stretch.
  /// @param has_steps a step was made in the session, if not in the stretch.
  [[nodiscard]] static measured_time of_window(profile const& profile, interval const& own, bool has_steps,
                                               bool only_with_kernels = false) {
    measured_time result;
    result.has_steps_ = has_steps;
    result.all_ = own;
    for (step_record const& step : profile.steps) {
      if (!step.is_measured() || (only_with_kernels && !step.has_kernels)) continue;
      if (own.begin <= step.time.begin && step.time.begin < own.end) result.measured_.push_back(step.time);
    }
    result.sort();
    return result;
  }

  /// Inside some stretches of time instead of steps.
  [[nodiscard]] static measured_time of_stretches(std::vector<interval> stretches) {
    measured_time result;
    result.has_steps_ = true;
    result.measured_ = std::move(stretches);
    result.sort();
    return result;
  }

  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  /// Whether a step was made. Steps that an exception left are in no list, nor is the one in which a snapshot was taken.
  [[nodiscard]] static bool had_steps(profile const& profile) {
    bool const is_in_step = profile.quality.snapshot && profile.quality.snapshot->is_step_open;
    return !profile.steps.empty() || profile.quality.abandoned_steps > 0 || is_in_step;
  }

  /// The measured steps in the order of time; none where no step was made.
  [[nodiscard]] std::vector<interval> const& steps() const noexcept { return measured_; }

  /// When a scope counts. One that is still open does not: its end is `timestamp::max()`.
  [[nodiscard]] timestamp moment_of(scope_record const& scope) const noexcept {
    return has_steps_ && scope.time.end != timestamp::max() ? scope.time.begin : scope.time.end;
  }

  /// How many values `step_of` can have.
  [[nodiscard]] std::size_t size() const noexcept { return has_steps_ ? measured_.size() : 1; }

  [[nodiscard]] bool contains(timestamp moment) const { return step_of(moment).has_value(); }

  /// Whether no moment is in it.
  [[nodiscard]] bool is_empty() const noexcept { return has_steps_ ? measured_.empty() : all_.end <= all_.begin; }

  /// The position of the measured step that the moment lies in, in order of time; 0 where no step was made.
  [[nodiscard]] std::optional<std::size_t> step_of(timestamp moment) const {
    if (!has_steps_) return all_.begin <= moment && moment < all_.end ? std::optional<std::size_t>{0} : std::nullopt;
    return step_at(steps_begun_at(moment), moment);
  }

 private:
  friend class measured_time_cursor;

  measured_time() = default;

  void sort() {
    std::sort(measured_.begin(), measured_.end(), [](interval const& a, interval const& b) { return a.begin < b.begin; });
  }

  [[nodiscard]] std::size_t steps_begun_at(timestamp moment) const {
    auto const after =
        std::upper_bound(measured_.begin(), measured_.end(), moment, [](timestamp at, interval const& step) { return at < step.begin; });
    return static_cast<std::size_t>(std::distance(measured_.begin(), after));
  }

  [[nodiscard]] std::optional<std::size_t> step_at(std::size_t begun, timestamp moment) const {
    if (begun == 0) return std::nullopt;
    interval const& step = measured_[begun - 1];
    if (moment < step.end || moment == step.begin) return begun - 1;
    return std::nullopt;
  }

  bool has_steps_ = false;
  interval all_{timestamp::min(), timestamp::max()};  ///< what counts where no step was made
  std::vector<interval> measured_;
};

/// The same for many moments that lie mostly in the step of the moment before.
class measured_time_cursor {
 public:
  explicit measured_time_cursor(measured_time const& in) : in_{in} {
    if (!in.has_steps_) {
      begin_ = in.all_.begin;
      end_ = in.all_.end;
    }
  }

  [[nodiscard]] bool contains(timestamp moment) { return step_of(moment).has_value(); }

  [[nodiscard]] std::optional<std::size_t> step_of(timestamp moment) {
    if (begin_ <= moment && moment < end_) return step_;
    return look_for(moment);
  }

 private:
  [[nodiscard]] std::optional<std::size_t> look_for(timestamp moment) {
    std::optional<std::size_t> const step = in_.step_of(moment);
    if (step && in_.has_steps_) {
      step_ = *step;
      begin_ = in_.measured_[step_].begin;
      end_ = in_.measured_[step_].end;
      // Where steps overlap, a moment is in the last that has begun.
      if (step_ + 1 < in_.measured_.size()) end_ = std::min(end_, in_.measured_[step_ + 1].begin);
    }
    return step;
  }

  measured_time const& in_;
  timestamp begin_ = timestamp::max();  ///< from here
  timestamp end_ = timestamp::min();    ///< to here the moments are in `step_`
  std::size_t step_ = 0;
};

}  // namespace profkit::detail
