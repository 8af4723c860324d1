// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include "../profile/profile.hpp"
#include "../profile/time.hpp"

namespace profkit::detail {

/// Which moments count: those inside a measured step, or all of them where no step was made.
class measured_time {
 public:
  explicit measured_time(profile const& of) : has_steps_{!of.steps.empty()} {
    for (step_record const& step : of.steps) {
      if (!step.warmup) measured_.push_back(step.time);
    }
    std::sort(measured_.begin(), measured_.end(), [](interval const& a, interval const& b) { return a.begin < b.begin; });
  }

  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  /// The measured steps in the order of time; none where no step was made.
  [[nodiscard]] std::vector<interval> const& steps() const noexcept { return measured_; }

  /// How many values `step_of` can have.
  [[nodiscard]] std::size_t size() const noexcept { return has_steps_ ? measured_.size() : 1; }

  [[nodiscard]] bool contains(timestamp moment) const { return step_of(moment).has_value(); }

  /// The position of the measured step that the moment lies in, in order of time; 0 for every moment where no step was made.
  [[nodiscard]] std::optional<std::size_t> step_of(timestamp moment) const {
    if (!has_steps_) return 0;
    return step_at(steps_begun_at(moment), moment);
  }

 private:
  friend class measured_time_cursor;

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

  bool has_steps_;
  std::vector<interval> measured_;
};

/// The same for many moments that lie mostly in the step of the moment before.
class measured_time_cursor {
 public:
  explicit measured_time_cursor(measured_time const& in) : in_{in} {}

  [[nodiscard]] bool contains(timestamp moment) { return step_of(moment).has_value(); }

  [[nodiscard]] std::optional<std::size_t> step_of(timestamp moment) {
    if (!in_.has_steps_) return 0;
    std::vector<interval> const& steps = in_.measured_;
    bool const is_near = (begun_ == 0 || steps[begun_ - 1].begin <= moment) && (begun_ == steps.size() || moment < steps[begun_].begin);
    if (!is_near) begun_ = in_.steps_begun_at(moment);
    return in_.step_at(begun_, moment);
  }

 private:
  measured_time const& in_;
  std::size_t begun_ = 0;
};

}  // namespace profkit::detail
