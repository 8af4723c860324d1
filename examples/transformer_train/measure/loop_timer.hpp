// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <profkit/time.hpp>
#include <string_view>

#include "device.hpp"
#include "measure/time_mark.hpp"

namespace trainer {

/// Times the measured loop independently of profkit. Neither `begin` nor `end` waits for the GPU.
class loop_timer {
 public:
  explicit loop_timer(compute_device const& device) : source_{source_of_marks(device)}, begin_{device}, end_{device} {}

  void begin() { begin_.record(); }
  void end() { end_.record(); }

  [[nodiscard]] std::string_view source() const noexcept { return source_; }

  /// Waits until the GPU reaches the end of the loop. Empty if the loop had no measured steps or CUDA failed.
  [[nodiscard]] std::optional<profkit::milliseconds> elapsed() const { return between(begin_, end_); }

 private:
  std::string_view source_;
  time_mark begin_;
  time_mark end_;
};

}  // namespace trainer
