// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "device.hpp"
#include "memory/memory_timeline.hpp"

namespace trainer {

/// Records the events of LibTorch's allocator on the first GPU, from construction to `stop`, on the constructing thread and in the backward
/// passes that it starts. Must be destroyed on the same thread; only one can exist at a time. The allocator keeps its last 60,000 events,
/// without call stacks; the history keeps the last 262,144 samples. Recording makes each allocation slower on the host, so do not quote
/// times of such a run.
class memory_recorder {
 public:
  /// @throws input_error if the device is not a GPU.
  explicit memory_recorder(compute_device const& device);
  ~memory_recorder();
  memory_recorder(memory_recorder const&) = delete;
  memory_recorder& operator=(memory_recorder const&) = delete;

  /// Takes the snapshot and ends the recording. Call it while the tensors that should be in the snapshot exist. Does not synchronise the
  /// device; takes about a second.
  void stop();

  /// The snapshot in the format of `torch.cuda.memory._dump_snapshot`, for https://pytorch.org/memory_viz. It was taken by `stop`, or else
  /// when memory last ran out. Without either, this function stops the recording.
  [[nodiscard]] std::string const& pickled();

  [[nodiscard]] memory_history history() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
