// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "config.hpp"

#if TRAINER_WITH_CUDA
#include <profkit/cuda.hpp>
/// A phase of the step: a host scope, and on a GPU also the time between two CUDA events.
#define TRAINER_PHASE(name, device) PROF_GPU_SCOPE(name, (device).stream())
#else
#include <profkit/scope.hpp>
#define TRAINER_PHASE(name, device) PROF_SCOPE(name)
#endif

namespace trainer {

/// The device of the model: the CPU, or one GPU, which becomes the current device of the thread that constructs this object.
class compute_device {
 public:
  /// @param captures whether work will be captured in CUDA graphs. LibTorch captures only on a non-default stream, so this thread then
  ///   launches on a new stream.
  /// @param local_rank the number of the GPU. If this process sees only one GPU, it uses that one.
  /// @throws input_error if a GPU is requested but this rank has none, or if the program was built without CUDA.
  explicit compute_device(device_kind wanted, bool captures = false, std::uint32_t local_rank = 0);

  [[nodiscard]] bool is_cuda() const noexcept { return is_cuda_; }
  /// Number of the GPU; 0 for the CPU.
  [[nodiscard]] std::int8_t index() const noexcept { return index_; }
  /// A description, such as "NVIDIA H200 (139.8 GiB)".
  [[nodiscard]] std::string const& description() const noexcept { return description_; }

  /// Waits for the GPU; no effect on the CPU.
  void synchronize() const;

  /// Blocks the GPU for a duration while this thread continues; no effect on the CPU.
  void delay(std::chrono::milliseconds by) const;

  /// Launches a kernel that spins for the given number of GPU clock cycles; no effect on the CPU. Does not wait for it.
  void spin(std::int64_t cycles) const;

  /// GPU clock cycles per millisecond, measured with a kernel that spins for some milliseconds; 0 on the CPU. Waits for the GPU.
  [[nodiscard]] double cycles_per_millisecond() const;

  /// Returns LibTorch's cached memory to the device, so that the next run starts without it. Waits for the GPU.
  void release_memory() const;

#if TRAINER_WITH_CUDA
  /// The current stream of LibTorch; null on the CPU.
  [[nodiscard]] std::optional<cudaStream_t> stream() const noexcept { return stream_; }
#endif

 private:
  bool is_cuda_ = false;
  std::int8_t index_ = 0;
  std::string description_;
#if TRAINER_WITH_CUDA
  std::optional<cudaStream_t> stream_;
#endif
};

/// Makes later allocations that exceed the available memory of this machine fail, as on a GPU. Otherwise Linux grants the memory and kills
/// the process when it is used.
void limit_host_memory();

/// Bytes that this process may still allocate; nothing if unknown.
[[nodiscard]] std::optional<std::uint64_t> available_host_bytes();

}  // namespace trainer
