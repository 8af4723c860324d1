// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "../../../profile.hpp"
#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"

namespace PROFKIT_NAMESPACE::detail {

/// The indices of the measured steps that begin in a stretch of time.
inline std::set<std::uint64_t> measured_steps_in(profile const& profile, interval const& own) {
  std::set<std::uint64_t> result;
  for (step_record const& step : profile.steps) {
    if (step.is_measured() && own.begin <= step.time.begin && step.time.begin < own.end) result.insert(step.index);
  }
  return result;
}

inline constexpr std::uint32_t no_step = 0xffffffffU;  ///< outside the measured time

inline constexpr interval all_time{timestamp::min(), timestamp::max()};

/// The measured time: moments inside measured steps, or all moments in a session without steps.
class measured_time {
 public:
  explicit measured_time(profile const& profile) : measured_time{of_window(profile, all_time, had_steps(profile))} {}

  /// The measured steps with kernels collected; all moments in a session without steps.
  [[nodiscard]] static measured_time with_kernels(profile const& profile) { return of_window(profile, all_time, had_steps(profile), true); }

  /// The measured steps that begin in a stretch of time; in a session without steps the whole stretch.
  /// @param has_steps the session has a step, in the stretch or elsewhere.
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

  /// Some stretches of time instead of steps.
  [[nodiscard]] static measured_time of_stretches(own_vector<interval> stretches) {
    measured_time result;
    result.has_steps_ = true;
    result.measured_ = std::move(stretches);
    result.sort();
    return result;
  }

  [[nodiscard]] bool has_steps() const noexcept { return has_steps_; }

  /// Whether the session had a step. No list contains abandoned steps or the open step of a snapshot.
  [[nodiscard]] static bool had_steps(profile const& profile) {
    bool const is_in_step = profile.quality.snapshot && profile.quality.snapshot->is_step_open;
    return !profile.steps.empty() || profile.quality.abandoned_steps > 0 || is_in_step;
  }

  /// @return the measured steps in time order; empty in a session without steps.
  [[nodiscard]] own_vector<interval> const& steps() const noexcept { return measured_; }

  /// The measured time in time order, disjoint.
  [[nodiscard]] own_vector<interval> stretches() const {
    if (!has_steps_) return {all_};
    own_vector<interval> result;
    for (interval const& each : measured_) {
      timestamp const begin = result.empty() ? each.begin : std::max(each.begin, result.back().end);
      if (begin < each.end) result.push_back({begin, each.end});
    }
    return result;
  }

  /// The moment at which a scope counts. An open scope does not count: its end is `timestamp::max()`.
  [[nodiscard]] timestamp moment_of(scope_record const& scope) const noexcept {
    return has_steps_ && scope.time.end != timestamp::max() ? scope.time.begin : scope.time.end;
  }

  /// @return the number of possible values of `step_of`.
  [[nodiscard]] std::size_t size() const noexcept { return has_steps_ ? measured_.size() : 1; }

  [[nodiscard]] bool contains(timestamp moment) const { return step_of(moment).has_value(); }

  [[nodiscard]] bool is_empty() const noexcept { return has_steps_ ? measured_.empty() : all_.end <= all_.begin; }

  /// The position, in time order, of the measured step that contains a moment; 0 in a session without steps.
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
  interval all_ = all_time;  ///< the measured time of a session without steps
  own_vector<interval> measured_;
};

/// `step_of` for many moments, fast if consecutive moments lie in the same step.
class measured_time_cursor {
 public:
  explicit measured_time_cursor(measured_time const& in) : in_{in} {
    if (!in.has_steps_) {
      begin_ = in.all_.begin;
      end_ = in.all_.end;
    }
  }

  [[nodiscard]] bool contains(timestamp moment) { return step_of(moment) != no_step; }

  /// @return a position or `no_step`: in the hottest loops, an `std::optional` is written in parts and waited for when it is read as a
  /// whole.
  [[nodiscard]] std::uint32_t step_of(timestamp moment) {
    if (begin_ <= moment && moment < end_) return step_;
    return look_for(moment);
  }

 private:
  [[nodiscard]] std::uint32_t look_for(timestamp moment) {
    std::optional<std::size_t> const step = in_.step_of(moment);
    if (!step) return no_step;
    if (in_.has_steps_) {
      step_ = static_cast<std::uint32_t>(*step);
      begin_ = in_.measured_[step_].begin;
      end_ = in_.measured_[step_].end;
      // If steps overlap, a moment belongs to the last begun step.
      if (step_ + 1 < in_.measured_.size()) end_ = std::min(end_, in_.measured_[step_ + 1].begin);
    }
    return step_;
  }

  measured_time const& in_;
  timestamp begin_ = timestamp::max();  ///< beginning of the range of moments in `step_`
  timestamp end_ = timestamp::min();    ///< end of that range
  std::uint32_t step_ = 0;
};

}  // namespace PROFKIT_NAMESPACE::detail
