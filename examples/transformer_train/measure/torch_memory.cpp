// SPDX-License-Identifier: Apache-2.0
#include "measure/torch_memory.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <profkit/scope.hpp>
#include <string>

namespace trainer {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// Set before the first allocation is tracked. A global, because LibTorch calls the tracker on any thread and passes it no context.
std::atomic<c10::DeviceIndex> device{0};

profkit::site gpu_source{torch_memory::source_name.data(), __FILE__, __LINE__};

c10::CachingAllocator::Stat const& all_of(c10::CachingAllocator::StatArray const& stats) {
  return stats[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

profkit::memory_reading reading(char const* quantity, c10::CachingAllocator::StatArray const& statistics) {
  c10::CachingAllocator::Stat const& stat = all_of(statistics);
  return {quantity, static_cast<std::uint64_t>(stat.current), static_cast<std::uint64_t>(stat.peak), "measured steps"};
}

/// Runs under the allocator's lock, so it must not allocate, lock, or call CUDA or LibTorch. The program owns a block from ALLOC to
/// FREE_COMPLETED. FREE_COMPLETED follows the request to free the block later if another stream still uses it. Both events have the
/// requested bytes and match the changes of `requested_bytes`, but of no other figure. Source: `alloc_found_block` and `free_block` in
/// PyTorch 2.11, c10/cuda/CUDACachingAllocator.cpp.
void track(allocator::TraceEntry const& entry) {
  if (entry.device_ != device) return;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): LibTorch stores the address as an integer
  auto const* const address = reinterpret_cast<void const*>(entry.addr_);
  if (entry.action_ == allocator::TraceEntry::ALLOC) profkit::record_allocation(gpu_source, address, entry.size_);
  if (entry.action_ == allocator::TraceEntry::FREE_COMPLETED) profkit::record_release(gpu_source, address, entry.size_);
}

/// Attaches the tracker once per process, because it cannot be detached. Without a session the tracker does nothing.
/// @return false if the allocator does not support trackers.
bool is_tracked() {
  static bool const is_attached = [] {
    // The allocator silently drops a tracker if its per-device state does not exist yet. LibTorch would create it later.
    allocator::init(c10::cuda::device_count());
    try {
      allocator::attachAllocatorTraceTracker(track);
    } catch (c10::Error const&) {
      return false;
    }
    return true;
  }();
  return is_attached;
}

/// 0 if the allocator cannot be queried.
std::uint64_t allocated_bytes() noexcept {
  try {
    return static_cast<std::uint64_t>(all_of(allocator::getDeviceStats(device).allocated_bytes).current);
  } catch (std::exception const&) {
    return 0;
  }
}

}  // namespace

torch_memory::torch_memory(bool by_scope, std::int8_t device_index) : by_scope_{by_scope} { device = device_index; }

void torch_memory::start(profkit::profile_builder& into) {
  if (!by_scope_) return;
  has_to_be_polled_ = !is_tracked();
  if (has_to_be_polled_) return;
  auto const requested = static_cast<std::uint64_t>(all_of(allocator::getDeviceStats(device).requested_bytes).current);
  into.position_of(profkit::allocator_record{std::string{source_name}, requested, false});
}

std::vector<profkit::memory_reading> torch_memory::read() {
  auto const stats = allocator::getDeviceStats(device);
  std::vector<profkit::memory_reading> result{reading("allocated", stats.allocated_bytes), reading("reserved", stats.reserved_bytes)};
  // Other allocators leave it 0.
  if (allocator::name() == "native") result.push_back(reading("requested", stats.requested_bytes));
  return result;
}

void torch_memory::reset_peak() { allocator::resetPeakStats(device); }

profkit::polled_allocator torch_memory::at_scopes() const noexcept {
  if (!has_to_be_polled_) return {};
  return {&gpu_source, allocated_bytes};
}

}  // namespace trainer
