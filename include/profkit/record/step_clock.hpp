// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../profile/time.hpp"
#include "clock.hpp"

namespace profkit::detail {

/// The lines of the clock since a step began. Where logs are drained in steps, too, the line at the end of a long step is not the one on
/// which its beginning lies, and by which the scopes at its beginning were converted.
class step_clock {
 public:
  /// A step is about to begin.
  void begin() noexcept {
    lines_.clear();
    is_open_ = true;
  }

  /// The clock has moved on to its next line.
  void advanced(clock_line const& line) {
    if (is_open_ && lines_.size() < most_lines) lines_.push_back(line);
  }

  /// The step has ended. @return when it began; nothing if that is after the last line.
  [[nodiscard]] std::optional<timestamp> end(std::uint64_t begin_ticks) noexcept {
    is_open_ = false;
    for (clock_line const& line : lines_) {
      if (begin_ticks <= line.newest().ticks) return line.convert(begin_ticks);
    }
    return std::nullopt;
  }

 private:
  /// The first ones are enough: a step begins soon after `begin`.
  static constexpr std::size_t most_lines = 8;

  std::vector<clock_line> lines_;
  bool is_open_ = false;
};

}  // namespace profkit::detail
