// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "device.hpp"
#include "memory/memory_timeline.hpp"

namespace trainer {

/// Records what LibTorch's allocator does on the first GPU, from construction to `stop`, on the thread that constructs it and in the
/// backward passes that it starts. Also destroyed there, and one at a time. The allocator keeps its last 60,000 events, without call
/// stacks; the history keeps 262,144 samples: the last steps, whatever came before. Each allocation takes some more host time, so times
/// of such a run are not the ones to quote.
class memory_recorder {
 public:
  /// @throws input_error if the device is not a GPU.
  explicit memory_recorder(compute_device const& device);
  ~memory_recorder();
  memory_recorder(memory_recorder const&) = delete;
  memory_recorder& operator=(memory_recorder const&) = delete;

  /// Takes the snapshot and ends the recording. To be called while the tensors that should be in it live. Does not synchronise the device;
  /// takes a second or so.
  void stop();

  /// The snapshot as `torch.cuda.memory._dump_snapshot` writes it, for https://pytorch.org/memory_viz: of when `stop` was called. If it
  /// was not, of when memory last ran out, while all that filled it was still there; without either the recording is stopped now.
  [[nodiscard]] std::string const& pickled();

  [[nodiscard]] memory_history history() const;

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
