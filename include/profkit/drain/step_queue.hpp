// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "../profile/own_memory.hpp"
#include "../record/clock.hpp"
#include "../record/step.hpp"

namespace profkit::detail {

/// Passes finished steps from the step thread to the draining thread. Its lock is held for a few instructions.
class step_queue {
 public:
  /// To be called before a step begins.
  void begin() {
    std::lock_guard<std::mutex> const lock{mutex_};
    is_open_ = true;
  }

  /// To be called after a step ended. Drops an abandoned step.
  void end(raw_step const& done) {
    std::lock_guard<std::mutex> const lock{mutex_};
    is_open_ = false;
    if (!done.is_abandoned) finished_.push_back(done);
  }

  /// Sets the newest line of the clock.
  void advance(clock_line const& line) {
    std::lock_guard<std::mutex> const lock{mutex_};
    newest_ = line;
  }

  /// Takes the steps that ended until a moment. Later steps stay, because the logs of their scopes are read at a later anchor of the clock.
  [[nodiscard]] own_vector<raw_step> take_until(std::uint64_t ticks) {
    std::lock_guard<std::mutex> const lock{mutex_};
    auto const later = std::find_if(finished_.begin(), finished_.end(), [&](raw_step const& each) { return each.end_ticks > ticks; });
    own_vector<raw_step> rest{later, finished_.end()};
    finished_.erase(later, finished_.end());
    return std::exchange(finished_, std::move(rest));
  }

  /// Whether there is an open step, or an ended step that was not taken.
  [[nodiscard]] bool has_unfinished() const {
    std::lock_guard<std::mutex> const lock{mutex_};
    return is_open_ || !finished_.empty();
  }

  /// The duration of a number of ticks, from the newest line; nothing before the first line.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> duration(std::uint64_t ticks) const {
    std::lock_guard<std::mutex> const lock{mutex_};
    return newest_ ? std::optional{newest_->duration(ticks)} : std::nullopt;
  }

 private:
  std::mutex mutable mutex_;
  std::optional<clock_line> newest_;
  own_vector<raw_step> finished_;
  bool is_open_ = false;
};

}  // namespace profkit::detail
