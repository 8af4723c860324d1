// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <profkit/collect/memory_source.hpp>
#include <string_view>
#include <vector>

namespace trainer {

/// LibTorch's caching allocator on one GPU: the blocks that tensors hold ("allocated"), the bytes that were asked for of them
/// ("requested") and what the allocator took from the device ("reserved"), with exact peaks. Source:
/// `c10::cuda::CUDACachingAllocator::getDeviceStats`.
///
/// Each allocation and each release is recorded, in bytes requested, so that the report has memory by scope. An allocator that does not say
/// them (`PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync`) is asked at both ends of every scope with `PROFKIT=memory=scopes`.
class torch_memory final : public profkit::memory_source {
 public:
  static constexpr std::string_view source_name = "libtorch";

  /// @param by_scope records allocations, or is asked at scopes.
  /// @param device_index the GPU; the same in the whole process.
  explicit torch_memory(bool by_scope = false, std::int8_t device_index = 0);

  [[nodiscard]] std::string_view name() const noexcept override { return source_name; }
  void start(profkit::profile_builder& into) override;
  [[nodiscard]] std::vector<profkit::memory_reading> read() override;
  void reset_peak() override;
  [[nodiscard]] profkit::polled_allocator at_scopes() const noexcept override;

  /// Memory by scope is wanted, and the allocator does not say what it gives.
  [[nodiscard]] bool has_to_be_polled() const noexcept { return has_to_be_polled_; }

 private:
  bool by_scope_;
  bool has_to_be_polled_ = false;
};

}  // namespace trainer
