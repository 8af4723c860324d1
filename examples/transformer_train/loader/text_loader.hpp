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
  std::size_t workers = 0;  ///< threads that prepare batches in advance; 0: the training thread prepares them
  std::int64_t ctx = 0;
  std::int64_t batch = 0;
  std::chrono::microseconds work{};  ///< additional processor time per sample
  std::uint64_t seed = 0;            ///< seed of the order of the windows
  std::uint64_t warmup_batches = 0;
  std::uint64_t epoch_batches = 0;
};

/// Batches of a text in a random order that depends on the seed and not on the number of workers, from LibTorch's `torch::data`:
/// `warmup_batches` in separate passes, then epochs. An epoch is the first `epoch_batches` x batch windows of the text, each once. Every
/// pass starts its workers with its first batch and ends them with its last, like PyTorch's loader in `for batch in loader`; each worker
/// prepares at most two batches in advance.
class text_loader final : public batch_feed {
 public:
  text_loader(std::shared_ptr<corpus const> from, loader_config const& config);
  ~text_loader() override;

  /// Waits for the workers, but not for the device.
  /// @throws input_error if the system cannot start that many threads; rethrows exceptions of workers.
  void next(std::span<std::int64_t> tokens, std::span<std::int64_t> targets) override;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
