// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ratio>

namespace profkit {

/// A moment on the calendar, in nanoseconds: CLOCK_MONOTONIC plus what CLOCK_REALTIME was ahead of it when the session began. So it is
/// CLOCK_REALTIME, which Nsight Systems uses too, unless somebody sets that clock during the session; then it goes on as if nobody had.
using timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

/// A duration with a fraction, for statistics and for people.
using milliseconds = std::chrono::duration<double, std::milli>;

/// A stretch of time; `end` is not before `begin`.
struct interval {
  timestamp begin;
  timestamp end;

  /// Not negative.
  [[nodiscard]] constexpr std::chrono::nanoseconds duration() const noexcept { return end - begin; }
};

}  // namespace profkit
