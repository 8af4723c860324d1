// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <profkit/time.hpp>

#include "device.hpp"

namespace trainer {

/// A point in the work of a device: a CUDA event on a GPU, the clock on the CPU. Independent of profkit, so that runs without profkit can
/// be timed.
class time_mark {
 public:
  explicit time_mark([[maybe_unused]] compute_device const& device) {
#if TRAINER_WITH_CUDA
    stream_ = device.stream();
    if (!stream_) return;
    cudaEvent_t made = nullptr;
    static_cast<void>(cudaEventCreate(&made));
    event_.reset(made);
#endif
  }

  /// Marks the work launched so far; does not wait for it.
  void record() {
    is_recorded_ = true;
    time_ = clock::now();
#if TRAINER_WITH_CUDA
    if (stream_) is_recorded_ = event_ && cudaEventRecord(event_.get(), *stream_) == cudaSuccess;
#endif
  }

  /// Waits until the GPU reaches `end`. Empty if one of the two was not recorded or CUDA failed.
  [[nodiscard]] friend std::optional<profkit::milliseconds> between(time_mark const& begin, time_mark const& end) {
    if (!begin.is_recorded_ || !end.is_recorded_) return std::nullopt;
#if TRAINER_WITH_CUDA
    if (end.stream_) {
      float time = 0.0F;
      if (cudaEventSynchronize(end.event_.get()) != cudaSuccess) return std::nullopt;
      if (cudaEventElapsedTime(&time, begin.event_.get(), end.event_.get()) != cudaSuccess) return std::nullopt;
      return profkit::milliseconds{time};
    }
#endif
    return end.time_ - begin.time_;
  }

 private:
  using clock = std::chrono::steady_clock;

#if TRAINER_WITH_CUDA
  struct destroy_event {
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
  };
  std::optional<cudaStream_t> stream_;
  std::unique_ptr<CUevent_st, destroy_event> event_;
#endif
  bool is_recorded_ = false;
  clock::time_point time_;
};

/// How time between marks is measured.
[[nodiscard]] inline char const* source_of_marks(compute_device const& device) {
  return device.is_cuda() ? "between two CUDA events" : "by the clock";
}

}  // namespace trainer
