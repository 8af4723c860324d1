// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include <exception>

namespace trainer {

/// The GPU work of a step, captured once as a CUDA graph. A replay uses the memory of the capture: tensors that outlive a step must stay
/// where they are. Memory allocated during the capture belongs to the graph.
class step_graph {
 public:
  /// Captures the work that `work` launches on the current stream, which must not be the default one, and on the streams of autograd
  /// threads. None of it runs yet. Waits for the device.
  /// @param work returns the result tensor of the step.
  template <class Work>
  explicit step_graph(Work&& work) {
    // The graph cannot use LibTorch's cached memory of earlier steps, and both together would not fit for large models.
    c10::cuda::CUDACachingAllocator::emptyCache();
    // Other threads may call CUDA during the capture.
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
  /// Ends the capture, so that the stream can be used again. Ignores errors, because the first one is rethrown.
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
