// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include "../../../profile.hpp"
#include "../../profile/own_memory.hpp"
#include "mean_interval.hpp"

namespace profkit {

/// @brief The rule of `steps=auto`: stop when the half-width of the 95 % interval of the mean step time is at most a given share of the
/// mean. The step time is host time, or GPU time if that is known and longer.
///
/// It checks after 60 steps, and then after each further quarter. Fewer than 60 steps miss a kind of step with a frequency of 1 in 20 with
/// a probability above 5 %. Each check is another chance to stop by coincidence, so checks are rare. Coverage of the final interval:
/// docs/statistics.md.
class stop_rule {
 public:
  /// @brief Creates the rule.
  /// @param wanted half-width relative to the mean, such as 0.01.
  /// @param warmup number of warm-up steps.
  /// @param max_steps maximum number of measured steps.
  stop_rule(double wanted, std::uint64_t warmup, std::uint64_t max_steps) noexcept
      : warmup_{warmup}, result_{wanted, {}, false, max_steps} {}

  /// @brief Adds the host time of the next measured step.
  void add(double ticks) { ticks_.push_back(ticks); }

  /// @brief Excludes a step after the warm-up. Its GPU time does not count.
  /// @param step `step_record::index`, in increasing order.
  void leave_out(std::uint64_t step) { left_out_.push_back(step); }

  /// @brief Decides whether to stop. To be called after each step.
  /// @param so_far contains the GPU step times known so far.
  /// @param has_gpu whether GPU step times exist; then at least 60 must be known.
  /// @param tick the duration of a tick of `add`.
  [[nodiscard]] bool look(profile const& so_far, bool has_gpu, milliseconds tick) {
    if (ticks_.size() >= next_look_ && !is_known_) {
      next_look_ += next_look_ / 4;
      is_known_ = is_mean_known(so_far, has_gpu, tick);
    }
    return is_known_ || ticks_.size() >= result_.max_steps;
  }

  /// @brief The result for the profile.
  [[nodiscard]] stop_record const& result() const noexcept { return result_; }

 private:
  static constexpr std::size_t min_steps = 60;

  [[nodiscard]] bool is_mean_known(profile const& so_far, bool has_gpu, milliseconds tick) {
    detail::own_vector<double> const gpu = gpu_ms(so_far);
    if (has_gpu && gpu.size() < min_steps) return false;
    auto const mean = [](detail::own_vector<double> const& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    result_.is_of_gpu = has_gpu && mean(gpu) > mean(ticks_) * tick.count();
    auto const interval = interval_of_mean(result_.is_of_gpu ? gpu : ticks_);
    result_.reached = interval ? interval->relative() : std::nullopt;
    if (!result_.reached) return false;
    return *result_.reached <= result_.wanted;
  }

  [[nodiscard]] detail::own_vector<double> gpu_ms(profile const& profile) const {
    detail::own_vector<double> result;
    for (gpu_step_record const& each : profile.gpu_steps) {
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
  detail::own_vector<double> ticks_;            ///< host times of the measured steps
  detail::own_vector<std::uint64_t> left_out_;  ///< in increasing order
  std::size_t next_look_ = min_steps;
  bool is_known_ = false;
};

}  // namespace profkit
