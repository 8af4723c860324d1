// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/profile.hpp>
#include <profkit/summary.hpp>
#include <profkit/time.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

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

/// What is known about a watched session.
enum class watch_state : std::uint8_t {
  waiting,     ///< no journal yet
  reading,     ///< what was written before is being read
  running,     ///< the journal grows, or has grown lately
  silent,      ///< the journal has not grown for some seconds
  gone,        ///< the process does not exist any more, and its session did not end
  ended,       ///< the session ended
  unreadable,  ///< `watch_view::problem` says why
};

/// One watched journal as the screen shows it. Addresses are borrowed.
struct watch_view {
  std::string name;    ///< "rank 3 (node17)" in a run of several ranks, else the name of the file
  std::string path{};  ///< as given, or as found in a folder that was given
  watch_state state = watch_state::waiting;
  std::string problem{};
  std::string stuck{};             ///< where the journals' processes stand, if a step takes long; else empty
  double share_read = 1.0;         ///< of the file
  std::chrono::seconds silence{};  ///< since the journal last grew
  profkit::environment_record environment{};
  std::chrono::nanoseconds recorded{};        ///< from the beginning of the session
  step_series const* steps = nullptr;         ///< the latest; null: none
  profkit::summary const* figures = nullptr;  ///< null: none yet
};

}  // namespace profkit_program
