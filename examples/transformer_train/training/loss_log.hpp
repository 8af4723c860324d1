// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainer {

/// The loss of each step, without waiting for it: the device writes it into pinned memory of the host when it gets there.
class loss_log {
 public:
  loss_log(std::uint64_t steps, bool pinned)
      : losses_{at::full({static_cast<std::int64_t>(steps)}, pending, at::TensorOptions{}.dtype(at::kFloat).pinned_memory(pinned))} {}

  /// Queues the copy of a step's loss, a scalar. Steps past the size of the log are not kept.
  void record(at::Tensor const& loss) {
    if (static_cast<std::int64_t>(recorded_) == losses_.size(0)) return;
    c10::NoGradGuard const no_grad;
    losses_.select(0, static_cast<std::int64_t>(recorded_++)).copy_(loss, /*non_blocking=*/true);
  }

  /// The losses that have arrived, in the order of the steps. All of them once the device is synchronised.
  [[nodiscard]] std::vector<float> arrived() const {
    std::vector<float> result;
    for (std::size_t i = 0; i < recorded_; ++i) {
      float const loss = std::atomic_ref{losses_.mutable_data_ptr<float>()[i]}.load(std::memory_order_acquire);
      if (loss == pending) break;
      result.push_back(loss);
    }
    return result;
  }

 private:
  /// A cross entropy is never negative.
  static constexpr float pending = -1.0F;

  at::Tensor losses_;
  std::size_t recorded_ = 0;
};

}  // namespace trainer
