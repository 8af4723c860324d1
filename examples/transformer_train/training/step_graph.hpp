// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <exception>

namespace trainer {

/// The GPU work of a step, captured once as a CUDA graph. A replay reads and writes the memory that was used at the capture: tensors that
/// live longer than a step have to stay where they are. What a step allocates lies in memory that the graph keeps for itself.
class step_graph {
 public:
  /// Captures the work that `work` gives to the current stream, which must not be the default one, and to the streams of autograd's threads
  /// under it; none of it runs yet. Waits for the device.
  /// @param work returns the tensor that is the result of the step.
  template <class Work>
  explicit step_graph(Work&& work) {
    // What the steps before left in LibTorch's cache is of no use to the graph: large models would not fit twice.
    c10::cuda::CUDACachingAllocator::emptyCache();
    // Other threads may call CUDA as they like meanwhile.
    graph_.capture_begin(/*pool=*/{0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      result_ = work().detach();
    } catch (...) {
      end_failed_capture();
      throw;
    }
    graph_.capture_end();
  }

  /// Launches the work on the current stream. Does not wait for it.
  /// @return the result, which the next replay overwrites.
  [[nodiscard]] at::Tensor const& replay() {
    graph_.replay();
    return result_;
  }

 private:
  /// So that the stream can be used again. What went wrong first is the error to report.
  void end_failed_capture() noexcept {
    try {
      graph_.capture_end();
    } catch (std::exception const&) {
    }
  }

  at::cuda::CUDAGraph graph_;
  at::Tensor result_;
};

}  // namespace trainer
