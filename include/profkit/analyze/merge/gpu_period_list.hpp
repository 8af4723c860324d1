// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "../gpu/gpu_step_windows.hpp"

namespace profkit::detail {

/// How long the devices took for one step.
struct gpu_period {
  std::uint64_t index = 0;  ///< `step_record::index`
  timestamp begin{};        ///< of the same step on the host
  std::chrono::nanoseconds time{};
  std::chrono::nanoseconds host{};             ///< of the same step
  std::optional<std::uint64_t> steps_ahead{};  ///< `gpu_step_window::steps_ahead`
};

/// How long the devices took for the steps of a stretch of time, in the order of time.
class gpu_period_list {
 public:
  gpu_period_list() = default;

  /// @param windows of steps of the profile.
  gpu_period_list(profile const& of, gpu_step_windows const& windows) {
    for (gpu_step_window const& each : windows.warmup) warmup_.push_back(period_of(of, each));
    for (gpu_step_window const& each : windows.measured) measured_.push_back(period_of(of, each));
  }

  /// As if the steps of the other one had come after those here.
  void append(gpu_period_list const& next) {
    warmup_.insert(warmup_.end(), next.warmup_.begin(), next.warmup_.end());
    measured_.insert(measured_.end(), next.measured_.begin(), next.measured_.end());
  }

  [[nodiscard]] std::vector<gpu_period> const& warmup() const noexcept { return warmup_; }
  [[nodiscard]] std::vector<gpu_period> const& measured() const noexcept { return measured_; }

 private:
  static gpu_period period_of(profile const& of, gpu_step_window const& window) {
    step_record const& step = of.steps[window.step];
    return {step.index, step.time.begin, window.time.duration(), step.time.duration(), window.steps_ahead};
  }

  std::vector<gpu_period> warmup_;
  std::vector<gpu_period> measured_;
};

}  // namespace profkit::detail
