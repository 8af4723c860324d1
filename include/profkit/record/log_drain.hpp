// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "../profile/profile.hpp"
#include "calendar_clock.hpp"
#include "clock.hpp"
#include "log_reader.hpp"
#include "recorder.hpp"
#include "step.hpp"
#include "step_clock.hpp"
#include "thread_registry.hpp"

namespace profkit::detail {

/// Makes records of the logs of all threads and of the steps, by one clock whose lines it draws. From its construction on; what earlier
/// sessions left is skipped.
class log_drain {
 public:
  /// A shorter line between clock anchors would carry their jitter into durations.
  static constexpr std::chrono::nanoseconds shortest_interval = std::chrono::milliseconds{10};

  /// @param clock_flag 0 or `use_monotonic_clock`.
  explicit log_drain(std::uint32_t clock_flag) : clock_flag_{clock_flag}, start_{anchor()}, clock_{start_} {}

  /// A step is about to begin.
  void begin_step() noexcept { step_clock_.begin(); }

  /// It comes into the profile with the next drain, unless an exception left it.
  void end_step(raw_step const& done) {
    std::optional<timestamp> const begin = step_clock_.end(done.begin_ticks);
    if (!done.is_abandoned) finished_steps_.push_back({done, begin});
  }

  [[nodiscard]] bool is_due() const noexcept {
    return monotonic_ns() + calendar_.offset_ns() - clock_.newest().ns >= shortest_interval.count();
  }

  /// @param last the session ends: all that there is.
  void drain(profile& into, bool last) {
    calendar_.look();
    clock_.advance(anchor());
    step_clock_.advanced(clock_);
    reader_.drain(into, clock_, last);
    if (!last) keep_spare_logs();
    for (auto const& [each, begin] : finished_steps_) {
      interval const time{begin.value_or(clock_.convert(each.begin_ticks)), clock_.convert(each.end_ticks)};
      into.steps.push_back({time, each.index, each.warmup, each.items, each.model_flops, each.has_kernels, each.is_excluded});
    }
    finished_steps_.clear();
  }

  /// How many have begun and not ended, as far as it has drained.
  [[nodiscard]] std::uint64_t open_scopes() const { return reader_.open_scopes(); }

  /// From the beginning to the latest drain.
  [[nodiscard]] interval time() const noexcept {
    return {timestamp{std::chrono::nanoseconds{start_.ns}}, timestamp{std::chrono::nanoseconds{clock_.newest().ns}}};
  }

  [[nodiscard]] clock_line const& clock() const noexcept { return clock_; }
  [[nodiscard]] calendar_clock& calendar() noexcept { return calendar_; }

 private:
  struct finished_step {
    raw_step step;
    std::optional<timestamp> begin;  ///< none: by the next line of the clock
  };

  [[nodiscard]] clock_anchor anchor() const noexcept {
    clock_anchor result = read_anchor(clock_flag_);
    result.ns += calendar_.offset_ns();
    return result;
  }

  log_reader reader_;
  std::uint32_t clock_flag_;
  calendar_clock calendar_;
  clock_anchor start_;
  clock_line clock_;
  step_clock step_clock_;
  std::vector<finished_step> finished_steps_;  ///< not converted yet
};

}  // namespace profkit::detail
