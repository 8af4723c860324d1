// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "memory/memory_timeline.hpp"

namespace trainer {

/// Keeps what LibTorch's allocators report to a profiler: after each allocation and each release the bytes in use, exactly as the
/// allocator counts them, which the events of its history do not say (they have the bytes asked for, before rounding). Made current on a
/// thread with `c10::DebugInfoGuard` as PROFILER_STATE; LibTorch takes it along to the threads of a backward pass. Callable from any
/// thread: a report comes under the allocator's lock and takes one of its own. Allocates nothing after construction.
///
/// LibTorch takes whatever is current as PROFILER_STATE for its own profilers' base, so this is one, which is disabled.
class allocation_log final : public torch::profiler::impl::ProfilerStateBase {
 public:
  /// @param device whose memory counts.
  /// @param capacity samples that are kept, of which there are two for each tensor; past it the oldest are dropped.
  allocation_log(c10::Device device, std::size_t capacity)
      : ProfilerStateBase{torch::profiler::impl::ProfilerConfig{torch::profiler::impl::ProfilerState::Disabled, false, true}},
        device_{device},
        samples_(capacity) {}

  /// What is reported after this is not kept.
  void stop() {
    std::lock_guard const lock{mutex_};
    is_stopped_ = true;
  }

  [[nodiscard]] memory_history history() const {
    std::lock_guard const lock{mutex_};
    memory_history result{{}, failure_};
    std::size_t const kept = std::min(count_, samples_.size());
    for (std::size_t i = count_ - kept; i < count_; ++i) result.samples.push_back(samples_[i % samples_.size()]);
    return result;
  }

  void reportMemoryUsage(void* /*pointer*/, std::int64_t /*bytes*/, std::size_t allocated, std::size_t reserved,
                         c10::Device device) override {
    if (device != device_) return;
    std::lock_guard const lock{mutex_};
    if (!is_stopped_) samples_[count_++ % samples_.size()] = {std::chrono::system_clock::now(), allocated, reserved};
  }

  void reportOutOfMemory(std::int64_t bytes, std::size_t /*allocated*/, std::size_t /*reserved*/, c10::Device device) override {
    if (device != device_) return;
    std::lock_guard const lock{mutex_};
    if (!is_stopped_) failure_ = failed_allocation{std::chrono::system_clock::now(), static_cast<std::uint64_t>(bytes)};
  }

  torch::profiler::impl::ActiveProfilerType profilerType() override { return torch::profiler::impl::ActiveProfilerType::NONE; }

 private:
  c10::Device device_;
  mutable std::mutex mutex_;
  std::vector<memory_sample> samples_;  ///< a ring
  std::size_t count_ = 0;               ///< of all that was reported
  std::optional<failed_allocation> failure_;
  bool is_stopped_ = false;
};

}  // namespace trainer
