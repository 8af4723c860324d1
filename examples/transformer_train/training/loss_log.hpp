// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace trainer {

/// The loss of each step, without waiting: the device writes it to pinned host memory when it reaches the copy.
class loss_log {
 public:
  /// Memory is allocated in blocks, so that endless runs also have a log.
  /// @param steps number of steps whose loss is kept.
  loss_log(std::uint64_t steps, bool pinned) : steps_{steps}, block_size_{std::min<std::uint64_t>(steps, 65'536)}, pinned_{pinned} {
    add_block();
  }

  /// Queues the copy of a step's loss, a scalar. Steps beyond the size of the log are not kept.
  void record(at::Tensor const& loss) {
    if (recorded_ == steps_) return;
    c10::NoGradGuard const no_grad;
    if (recorded_ == blocks_.size() * block_size_) add_block();
    blocks_.back().select(0, static_cast<std::int64_t>(recorded_++ % block_size_)).copy_(loss, /*non_blocking=*/true);
  }

  /// The losses that have arrived, in step order; all of them once the device is synchronised.
  [[nodiscard]] std::vector<float> arrived() const {
    std::vector<float> result;
    for (std::uint64_t i = 0; i < recorded_; ++i) {
      float& written = blocks_[i / block_size_].mutable_data_ptr<float>()[i % block_size_];
      float const loss = std::atomic_ref{written}.load(std::memory_order_acquire);
      if (loss == pending) break;
      result.push_back(loss);
    }
    return result;
  }

 private:
  /// Marks missing losses: a cross entropy is never negative.
  static constexpr float pending = -1.0F;

  void add_block() {
    blocks_.push_back(
        at::full({static_cast<std::int64_t>(block_size_)}, pending, at::TensorOptions{}.dtype(at::kFloat).pinned_memory(pinned_)));
  }

  std::uint64_t steps_;
  std::uint64_t block_size_;
  bool pinned_;
  std::vector<at::Tensor> blocks_;
  std::uint64_t recorded_ = 0;
};

}  // namespace trainer
