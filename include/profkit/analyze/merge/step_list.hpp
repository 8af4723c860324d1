// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "../../profile/profile.hpp"
#include "../../profile/time.hpp"
#include "step_series.hpp"

namespace profkit::detail {

/// The steps that begin in a stretch of time, in the order of recording, without excluded steps.
class step_list {
 public:
  step_list() = default;

  step_list(profile const& profile, interval const& own) {
    std::unordered_map<std::uint64_t, std::chrono::nanoseconds> gpu_times;  // by step
    for (gpu_step_record const& each : profile.gpu_steps) gpu_times[each.step] += each.duration;
    for (step_record const& each : profile.steps) {
      if (each.time.begin < own.begin || each.time.begin >= own.end) continue;
      if (each.is_excluded) {
        ++excluded_;
        continue;
      }
      host_.add(each.index, each.warmup, each.time.begin, each.time.duration());
      if (auto const gpu = gpu_times.find(each.index); gpu != gpu_times.end()) {
        gpu_.add(each.index, each.warmup, each.time.begin, gpu->second);
      }
      if (each.is_measured()) {
        items_ += each.items;
        model_flops_ += each.model_flops;
      }
    }
  }

  /// Appends the following steps: the result is as if they had been added here.
  void append(step_list const& next) {
    host_.append(next.host_);
    gpu_.append(next.gpu_);
    excluded_ += next.excluded_;
    items_ += next.items_;
    model_flops_ += next.model_flops_;
  }

  [[nodiscard]] step_series const& host() const noexcept { return host_; }

  /// @return the times between CUDA events.
  [[nodiscard]] step_series const& gpu() const noexcept { return gpu_; }

  [[nodiscard]] std::uint64_t excluded() const noexcept { return excluded_; }
  [[nodiscard]] std::uint64_t items() const noexcept { return items_; }

  /// @return model FLOPs of the measured steps, as counted by the program.
  [[nodiscard]] double model_flops() const noexcept { return model_flops_; }

 private:
  template <class Archive>
  friend void fields(Archive& archive, step_list& steps) {
    archive(steps.host_), archive(steps.gpu_), archive(steps.excluded_), archive(steps.items_), archive(steps.model_flops_);
    if constexpr (Archive::is_reader) archive.check(steps.model_flops_ >= 0.0, "the work of steps is less than nothing, or no number");
  }

  step_series host_;
  step_series gpu_;
  std::uint64_t excluded_ = 0;
  std::uint64_t items_ = 0;
  double model_flops_ = 0.0;
};

}  // namespace profkit::detail
