// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "../profile/time.hpp"
#include "../record/clock.hpp"
#include "../record/step.hpp"

namespace profkit::detail {

/// Passes finished steps from the step thread to the draining thread. Its lock is held for a few instructions.
///
/// Logs are also drained while a step runs, so at the end of a long step the clock has a different line than at its beginning. The queue
/// keeps all lines since the open step began, so that the step and its scopes are converted identically.
class step_queue {
 public:
  struct finished_step {
    raw_step step;
    std::optional<timestamp> begin;  ///< none: to be converted by the next line of the clock
  };

  /// A step is about to begin.
  void begin() {
    std::lock_guard<std::mutex> const lock{mutex_};
    lines_.clear();
    is_open_ = true;
  }

  /// A step has ended. An abandoned step is dropped.
  void end(raw_step const& done) {
    std::lock_guard<std::mutex> const lock{mutex_};
    is_open_ = false;
    if (!done.is_abandoned) finished_.push_back({done, begin_of(done.begin_ticks)});
  }

  /// The clock has a new line. @return the steps that ended since the last call.
  [[nodiscard]] std::vector<finished_step> advance(clock_line const& line) {
    std::lock_guard<std::mutex> const lock{mutex_};
    if (is_open_ && lines_.size() < max_lines) lines_.push_back(line);
    newest_ = line;
    return std::exchange(finished_, {});
  }

  /// Whether a step is open, or has ended since `advance`.
  [[nodiscard]] bool has_unfinished() const {
    std::lock_guard<std::mutex> const lock{mutex_};
    return is_open_ || !finished_.empty();
  }

  /// The duration of a number of ticks, by the newest line; nothing before the first line.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> duration(std::uint64_t ticks) const {
    std::lock_guard<std::mutex> const lock{mutex_};
    return newest_ ? std::optional{newest_->duration(ticks)} : std::nullopt;
  }

 private:
  /// Only the first lines matter, because a step begins soon after `begin`.
  static constexpr std::size_t max_lines = 8;

  [[nodiscard]] std::optional<timestamp> begin_of(std::uint64_t ticks) const noexcept {
    for (clock_line const& line : lines_) {
      if (ticks <= line.newest().ticks) return line.convert(ticks);
    }
    return std::nullopt;
  }

  std::mutex mutable mutex_;
  std::vector<clock_line> lines_;  ///< since the open step began
  std::optional<clock_line> newest_;
  std::vector<finished_step> finished_;
  bool is_open_ = false;
};

}  // namespace profkit::detail
