// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <profkit/memory_source.hpp>
#include <string_view>
#include <vector>

namespace trainer {

/// LibTorch's caching allocator on one GPU, with exact peaks: the blocks of tensors ("allocated"), the bytes that the program requested for
/// them ("requested"), and the memory that the allocator has taken from the device ("reserved"). Source:
/// `c10::cuda::CUDACachingAllocator::getDeviceStats`.
///
/// Records each allocation and each release in requested bytes, so that the report has memory by scope. An allocator that does not report
/// them (`PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync`) is polled at both ends of every scope with `PROFKIT=memory=scopes`.
class torch_memory final : public profkit::memory_source {
 public:
  static constexpr std::string_view source_name = "libtorch";

  /// @param by_scope whether to record allocations, or to poll at scopes.
  /// @param device_index the GPU; the same in the whole process.
  explicit torch_memory(bool by_scope = false, std::int8_t device_index = 0);

  [[nodiscard]] std::string_view name() const noexcept override { return source_name; }
  void start(profkit::profile_builder& into) override;
  [[nodiscard]] std::vector<profkit::memory_reading> read() override;
  void reset_peak() override;
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override;

  /// True if memory by scope is requested and the allocator does not report allocations.
  [[nodiscard]] bool has_to_be_polled() const noexcept { return has_to_be_polled_; }

 private:
  bool by_scope_;
  bool has_to_be_polled_ = false;
};

}  // namespace trainer
