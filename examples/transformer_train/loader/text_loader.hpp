// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "loader/corpus.hpp"
#include "training/batch_feed.hpp"

namespace trainer {

struct loader_config {
  std::size_t workers = 0;  ///< threads that prepare batches ahead; 0: the thread that trains prepares them
  std::int64_t ctx = 0;
  std::int64_t batch = 0;
  std::chrono::microseconds work{};  ///< of processor time that a sample costs beside its decoding
  std::uint64_t seed = 0;            ///< of the order of the windows
  std::uint64_t warmup_batches = 0;
  std::uint64_t epoch_batches = 0;
};

/// Batches of a text, in a random order that the seed decides and the number of workers does not, from LibTorch's `torch::data`:
/// `warmup_batches` in passes of their own, and then epochs. An epoch is the first `epoch_batches` x batch windows of the text, each once.
/// Every pass starts its workers with its first batch and ends them with its last, as PyTorch's loader does for each `for batch in loader`;
/// they prepare at most two batches each ahead.
class text_loader final : public batch_feed {
 public:
  text_loader(std::shared_ptr<corpus const> from, loader_config const& config);
  ~text_loader() override;

  /// Waits for the workers, but not for the device.
  /// @throws input_error if the system does not start that many threads; what a worker threw.
  void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) override;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
