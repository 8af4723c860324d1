// SPDX-License-Identifier: Apache-2.0
#include "measure/torch_memory.hpp"

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstddef>

namespace trainer {

namespace {

constexpr c10::DeviceIndex device = 0;

profkit::memory_reading reading(char const* quantity, c10::CachingAllocator::StatArray const& of) {
  c10::CachingAllocator::Stat const& stat = of[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  return {quantity, static_cast<std::uint64_t>(stat.current), static_cast<std::uint64_t>(stat.peak), "measured steps"};
}

}  // namespace

std::vector<profkit::memory_reading> torch_memory::read() {
  auto const stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
  return {reading("allocated", stats.allocated_bytes), reading("reserved", stats.reserved_bytes)};
}

void torch_memory::reset_peak() { c10::cuda::CUDACachingAllocator::resetPeakStats(device); }

}  // namespace trainer
