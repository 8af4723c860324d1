// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ratio>

namespace profkit {

/// A moment on CLOCK_REALTIME, the clock that CUPTI and Nsight Systems use too, in nanoseconds.
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
