// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

namespace profkit_program {

/// The latest steps of a session, oldest first.
class step_series {
 public:
  /// More than a terminal has columns.
  static constexpr std::size_t max_steps = 1024;

  /// Adds a step, unless it is known: a journal's next file repeats some of those before.
  void add(profkit::step_record const& step) {
    if (!steps_.empty() && step.index <= steps_.back().index) return;
    if (steps_.size() == max_steps) steps_.pop_front();
    steps_.push_back(step);
  }

  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  [[nodiscard]] auto begin() const noexcept { return steps_.begin(); }
  [[nodiscard]] auto end() const noexcept { return steps_.end(); }
  [[nodiscard]] profkit::step_record const& last() const { return steps_.back(); }

  /// Whether a moment lies in a measured step of the series.
  [[nodiscard]] bool is_in_measured_step(profkit::timestamp moment) const {
    auto const after = std::upper_bound(steps_.begin(), steps_.end(), moment,
                                        [](profkit::timestamp at, profkit::step_record const& step) { return at < step.time.begin; });
    if (after == steps_.begin()) return false;
    profkit::step_record const& step = *(after - 1);
    return step.is_measured() && moment < step.time.end;
  }

 private:
  std::deque<profkit::step_record> steps_;
};

}  // namespace profkit_program
