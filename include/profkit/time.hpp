// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Points in time, durations and intervals.

#include <chrono>
#include <ratio>

#include "version.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief A point in time, in nanoseconds since 1970: CLOCK_MONOTONIC plus the offset to CLOCK_REALTIME at the beginning of the session.
///
/// Equal to CLOCK_REALTIME, which Nsight Systems uses too, unless that clock is set during the session. Setting it does not affect
/// timestamps.
using timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

/// @brief A duration in milliseconds with a fraction, for statistics and reports.
using milliseconds = std::chrono::duration<double, std::milli>;

/// @brief A stretch of time; `end` is not before `begin`.
struct interval {
  timestamp begin;  ///< first moment
  timestamp end;    ///< the moment after the last one

  /// @brief The length; not negative.
  [[nodiscard]] constexpr std::chrono::nanoseconds duration() const noexcept { return end - begin; }
};

}  // namespace PROFKIT_NAMESPACE
