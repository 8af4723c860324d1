// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "config.hpp"

namespace trainer {

/// Data-parallel training: each rank has a copy of the parameters and a part of the batch, and all ranks get the mean of their gradients.
/// LibTorch's `c10d::Reducer` collects gradients in buckets; a bucket is reduced while the backward pass continues. NCCL reduces on GPUs,
/// Gloo on CPUs. This interface hides the headers of c10d.
///
/// A step may be captured as a CUDA graph from the third one on, because buckets keep their order and memory from the second one on.
/// Replays do not call these functions. Destroy the graph first: an NCCL communicator waits for the graphs that use it.
///
/// All functions are collective unless stated: each rank must call them in the same order. They throw `std::runtime_error` or `c10::Error`
/// if another rank has exited.
class data_parallel {
 public:
  /// Waits up to five minutes for all ranks, and copies the parameters of rank 0 to all of them. The ranks meet at MASTER_ADDR:MASTER_PORT,
  /// by default 127.0.0.1:29500.
  /// @param has_gradients whether backward passes follow.
  /// @throws input_error if the program was built without support for the device, or if the ranks cannot meet.
  data_parallel(rank_layout const& ranks, c10::Device device, std::vector<at::Tensor> parameters, bool has_gradients);
  ~data_parallel();
  data_parallel(data_parallel const&) = delete;
  data_parallel& operator=(data_parallel const&) = delete;

  /// Call it before each forward pass that is followed by a backward pass. In the second step it sorts the buckets into the order in which
  /// gradients became ready in the first one.
  void begin_forward();

  /// Call it before the backward pass. Not collective itself.
  void begin_backward(at::Tensor const& loss);

  /// Replaces the gradients by their mean over all ranks. Does not wait for a GPU; the stream does.
  void finish_gradients();

  /// The mean over all ranks, element by element. Waits for the device.
  /// @param values the same number of values on each rank.
  [[nodiscard]] std::vector<float> mean(std::vector<float> const& values);

  /// The positions of the parameters that differ in any bit from those of rank 0, on any rank; the same result on all ranks. Waits for the
  /// device.
  [[nodiscard]] std::vector<std::size_t> different_parameters();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
