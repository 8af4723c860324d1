// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cuda.hpp>
/// A phase of the step: a host scope, and on a GPU the time between two CUDA events too.
#define TRAINER_PHASE(name, device) PROF_GPU_SCOPE(name, (device).stream())
#else
#include <profkit/scope.hpp>
#define TRAINER_PHASE(name, device) PROF_SCOPE(name)
#endif

namespace trainer {

/// Where the model computes: the processor, or the first GPU.
class compute_device {
 public:
  /// @param captures its work is to be captured in CUDA graphs, for which LibTorch wants another stream than the default one: from here on
  /// this thread launches on that.
  /// @throws input_error if a GPU is asked for and there is none, or if the program was built without CUDA.
  explicit compute_device(device_kind wanted, bool captures = false);

  [[nodiscard]] bool is_cuda() const noexcept { return is_cuda_; }
  /// For people, such as "NVIDIA H200 (139.8 GiB)".
  [[nodiscard]] std::string const& description() const noexcept { return description_; }

  /// Waits for the GPU; nothing to wait for on the processor.
  void synchronize() const;

  /// Lets the GPU wait before it goes on with its work, while this thread goes on; nothing on the processor.
  void delay(std::chrono::milliseconds by) const;

  /// Gives the memory that LibTorch keeps for later back to the device, so that what comes next starts from nothing. Waits for the GPU.
  void release_memory() const;

#if TRAINER_WITH_CUDA
  /// The stream that LibTorch launches on; none on the processor.
  [[nodiscard]] std::optional<cudaStream_t> stream() const noexcept { return stream_; }
#endif

 private:
  bool is_cuda_ = false;
  std::string description_;
#if TRAINER_WITH_CUDA
  std::optional<cudaStream_t> stream_;
#endif
};

/// From here on, an allocation that does not fit this machine's available memory fails, as on a GPU. Without it Linux grants the memory
/// and kills the process when it uses it.
void limit_host_memory();

/// Bytes that this process may still allocate; none if the system does not say.
[[nodiscard]] std::optional<std::uint64_t> available_host_bytes();

}  // namespace trainer
