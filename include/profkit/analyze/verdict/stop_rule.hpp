// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "../../profile/profile.hpp"
#include "mean_interval.hpp"

namespace profkit {

/// Stops when enough steps are measured: when half of the 95 % interval of the mean step time is at most a given share of it. The step time
/// is that of the host, or that of the GPU where it is known and longer.
///
/// It looks after 60 steps, and then each time a quarter more have come. Fewer than 60 steps miss a kind of step that is one in twenty with
/// a probability above 5 %, and each look is one more chance to stop because the steps happen to lie close together. docs/statistics.md has
/// how often the interval at the end holds the true mean.
class stop_rule {
 public:
  /// @param wanted half of the interval over the mean, such as 0.01.
  /// @param warmup steps before the measured ones.
  /// @param most measured steps, at which it stops in any case.
  stop_rule(double wanted, std::uint64_t warmup, std::uint64_t most) noexcept : warmup_{warmup}, result_{wanted, {}, false, most} {}

  /// Takes the next measured step's host time.
  void add(double ticks) { ticks_.push_back(ticks); }

  /// A step after the warm-up that is not measured: its GPU time does not count, either.
  /// @param step `step_record::index`, larger than that of the call before.
  void leave_out(std::uint64_t step) { left_out_.push_back(step); }

  /// Whether enough is measured; to be asked after each step.
  /// @param so_far holds the GPU step times that are known by now.
  /// @param has_gpu whether there are such times at all; then some have to be known.
  /// @param tick how long a tick of `add` is.
  [[nodiscard]] bool look(profile const& so_far, bool has_gpu, milliseconds tick) {
    if (ticks_.size() >= next_look_ && !is_known_) {
      next_look_ += next_look_ / 4;
      is_known_ = is_mean_known(so_far, has_gpu, tick);
    }
    return is_known_ || ticks_.size() >= result_.most_steps;
  }

  /// When it stopped, and what was known then.
  [[nodiscard]] stop_record const& result() const noexcept { return result_; }

 private:
  static constexpr std::size_t least_steps = 60;

  [[nodiscard]] bool is_mean_known(profile const& so_far, bool has_gpu, milliseconds tick) {
    std::vector<double> const gpu = gpu_ms(so_far);
    if (has_gpu && gpu.size() < least_steps) return false;
    auto const mean = [](std::vector<double> const& of) {
      return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
    };
    result_.is_of_gpu = has_gpu && mean(gpu) > mean(ticks_) * tick.count();
    auto const interval = interval_of_mean(result_.is_of_gpu ? gpu : ticks_);
    result_.reached = interval ? interval->relative() : std::nullopt;
    if (!result_.reached) return false;
    return *result_.reached <= result_.wanted;
  }

  [[nodiscard]] std::vector<double> gpu_ms(profile const& of) const {
    std::vector<double> result;
    for (gpu_step_record const& each : of.gpu_steps) {
      if (each.step < warmup_ || std::binary_search(left_out_.begin(), left_out_.end(), each.step)) continue;
      std::size_t const position = each.step - warmup_;
      if (position >= result.size()) result.resize(position + 1, 0.0);
      result[position] += milliseconds{each.duration}.count();
    }
    result.erase(std::remove(result.begin(), result.end(), 0.0), result.end());  // steps without a GPU time
    return result;
  }

  std::uint64_t warmup_;
  stop_record result_;
  std::vector<double> ticks_;            ///< of the measured steps
  std::vector<std::uint64_t> left_out_;  ///< in increasing order
  std::size_t next_look_ = least_steps;
  bool is_known_ = false;
};

}  // namespace profkit
