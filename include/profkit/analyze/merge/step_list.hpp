// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"

namespace profkit::detail {

/// One step, warm-up or measured. Not one that the program excluded.
struct timed_step {
  std::uint64_t index = 0;  ///< `step_record::index`
  bool is_warmup = false;
  timestamp begin{};
  std::chrono::nanoseconds host{};
  std::optional<std::chrono::nanoseconds> gpu{};  ///< between CUDA events
};

/// The steps that begin in a stretch of time, in the order in which they were recorded.
class step_list {
 public:
  step_list() = default;

  step_list(profile const& of, interval const& own) {
    std::unordered_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by step
    for (gpu_step_record const& each : of.gpu_steps) gpu_times[each.step] += each.duration;
    for (step_record const& each : of.steps) {
      if (each.time.begin < own.begin || each.time.begin >= own.end) continue;
      if (each.is_excluded) {
        ++excluded_;
        continue;
      }
      auto const gpu = gpu_times.find(each.index);
      std::optional<std::chrono::nanoseconds> const gpu_time = gpu == gpu_times.end() ? std::nullopt : std::optional{gpu->second};
      steps_.push_back({each.index, each.warmup, each.time.begin, each.time.duration(), gpu_time});
      if (each.is_measured()) {
        items_ += each.items;
        model_flops_ += each.model_flops;
      }
    }
  }

  /// As if the steps of the other one had been recorded after those here.
  void append(step_list const& next) {
    steps_.insert(steps_.end(), next.steps_.begin(), next.steps_.end());
    excluded_ += next.excluded_;
    items_ += next.items_;
    model_flops_ += next.model_flops_;
  }

  [[nodiscard]] std::vector<timed_step> const& steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t excluded() const noexcept { return excluded_; }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }

  /// That the measured steps need, counted by the program.
  [[nodiscard]] double model_flops() const noexcept { return model_flops_; }

 private:
  std::vector<timed_step> steps_;
  std::uint64_t excluded_ = 0;
  std::uint64_t items_ = 0;
  double model_flops_ = 0.0;
};

}  // namespace profkit::detail
