// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/collect/memory_source.hpp>
#include <string_view>
#include <vector>

namespace trainer {

/// LibTorch's caching allocator on the first GPU: what tensors hold ("allocated") and what the allocator took from the device
/// ("reserved"), with exact peaks. Source: `c10::cuda::CUDACachingAllocator::getDeviceStats`.
class torch_memory final : public profkit::memory_source {
 public:
  static constexpr std::string_view source_name = "libtorch";

  [[nodiscard]] std::string_view name() const noexcept override { return source_name; }
  [[nodiscard]] std::vector<profkit::memory_reading> read() override;
  void reset_peak() override;
};

}  // namespace trainer
