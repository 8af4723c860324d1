// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "config.hpp"

namespace trainer {

/// Training on many ranks, each with a copy of the parameters and a part of the batch: all ranks get the mean of their gradients.
/// LibTorch's `c10d::Reducer` collects gradients in buckets, and a bucket is reduced while the backward pass goes on. NCCL reduces on GPUs,
/// Gloo on processors. The headers of c10d stay behind this interface.
///
/// A step may be captured as a CUDA graph from the third one on, since the buckets keep their order and their memory from the second one
/// on. Replays do not call these functions. The graph has to be destroyed first: a communicator of NCCL waits for the graphs that use it.
///
/// All functions are collective unless stated: each rank has to call them in the same order. They throw `std::runtime_error` or
/// `c10::Error` if another rank has gone.
class data_parallel {
 public:
  /// Waits for all ranks, up to five minutes, and gives each the parameters of rank 0. The ranks meet at MASTER_ADDR:MASTER_PORT, by
  /// default 127.0.0.1:29500.
  /// @param has_gradients whether backward passes follow.
  /// @throws input_error if the program was built without what the device needs, or if the ranks cannot meet.
  data_parallel(rank_layout const& ranks, c10::Device device, std::vector<at::Tensor> parameters, bool has_gradients);
  ~data_parallel();
  data_parallel(data_parallel const&) = delete;
  data_parallel& operator=(data_parallel const&) = delete;

  /// To be called before each forward pass that a backward pass follows. In the second step it puts the buckets into the order in which
  /// gradients became ready in the first one.
  void begin_forward();

  /// To be called before the backward pass. Not collective itself.
  void begin_backward(at::Tensor const& loss);

  /// Makes the gradients those of all ranks. Does not wait for a GPU: the stream does.
  void finish_gradients();

  /// The mean over all ranks, element by element. Waits for the device.
  /// @param values of the same number on each rank.
  [[nodiscard]] std::vector<float> mean(std::vector<float> const& values);

  /// The positions of the parameters that differ from those of rank 0 on any rank in any bit; the same result on all ranks. Waits for the
  /// device.
  [[nodiscard]] std::vector<std::size_t> different_parameters();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace trainer
