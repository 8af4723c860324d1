// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace profkit::detail {

/// Times of `gpu_utilization`. The counters of a Hopper GPU change about every 100 ms, with a delay of the same length. So shorter windows
/// give wrong values.
struct utilization_times {
  std::chrono::nanoseconds window = std::chrono::seconds{1};               ///< minimum length of a window
  std::chrono::nanoseconds before_first = std::chrono::milliseconds{200};  ///< from the first measured step to the first window
  std::chrono::nanoseconds between_readings = std::chrono::milliseconds{200};
  /// A longer pause between two steps ends the window without a result, because the pause is not part of the measured steps.
  std::chrono::nanoseconds max_pause = std::chrono::milliseconds{100};
};

}  // namespace profkit::detail
