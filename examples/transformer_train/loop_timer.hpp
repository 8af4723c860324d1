// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <profkit/profile/time.hpp>
#include <string_view>

#include "device.hpp"

namespace trainer {

/// Time of the measured loop that owes nothing to profkit, so that what profkit costs can be told by switching it off. Between two CUDA
/// events on a GPU, by the clock on the processor. Neither `begin` nor `end` waits for the GPU.
class loop_timer {
 public:
  explicit loop_timer(compute_device const& device) : device_{device} {
#if TRAINER_WITH_CUDA
    if (device.is_cuda()) gpu_ = {make_event(), make_event()};
#endif
  }

  void begin() {
    has_begun_ = true;
    begin_ = clock::now();
    record(0);
  }

  void end() {
    record(1);
    end_ = clock::now();
  }

  [[nodiscard]] std::string_view source() const noexcept { return device_.is_cuda() ? "between two CUDA events" : "by the clock"; }

  /// Waits for the GPU to reach the end. None if the loop had nothing to measure, or CUDA does not say.
  [[nodiscard]] std::optional<profkit::milliseconds> elapsed() const {
    if (!has_begun_) return std::nullopt;
#if TRAINER_WITH_CUDA
    if (device_.is_cuda()) {
      float time = 0.0F;
      if (cudaEventSynchronize(gpu_[1].get()) != cudaSuccess) return std::nullopt;
      if (cudaEventElapsedTime(&time, gpu_[0].get(), gpu_[1].get()) != cudaSuccess) return std::nullopt;
      return profkit::milliseconds{time};
    }
#endif
    return end_ - begin_;
  }

 private:
  using clock = std::chrono::steady_clock;

#if TRAINER_WITH_CUDA
  struct destroy_event {
    void operator()(cudaEvent_t event) const noexcept { static_cast<void>(cudaEventDestroy(event)); }
  };
  using event = std::unique_ptr<CUevent_st, destroy_event>;

  static event make_event() {
    cudaEvent_t made = nullptr;
    static_cast<void>(cudaEventCreate(&made));
    return event{made};
  }

  void record(std::size_t which) const {
    if (device_.is_cuda()) static_cast<void>(cudaEventRecord(gpu_.at(which).get(), *device_.stream()));
  }

  std::array<event, 2> gpu_;
#else
  static void record(int /*which*/) noexcept {}
#endif

  compute_device const& device_;
  bool has_begun_ = false;
  clock::time_point begin_;
  clock::time_point end_;
};

}  // namespace trainer
