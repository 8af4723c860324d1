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

/// Keeps the bytes in use that LibTorch's allocators report to a profiler after each allocation and release. They are exact, while the
/// events of the allocator's history have the requested bytes, before rounding. Install it on a thread with `c10::DebugInfoGuard` as
/// PROFILER_STATE; LibTorch passes it on to the threads of a backward pass. Thread-safe: the allocator reports under its lock, and the log
/// has its own. Allocates nothing after construction.
///
/// LibTorch casts the PROFILER_STATE of a thread to ProfilerStateBase, so this class derives from it and reports a disabled profiler.
class allocation_log final : public torch::profiler::impl::ProfilerStateBase {
 public:
  /// @param device the device whose memory is logged.
  /// @param capacity number of samples to keep; beyond it the oldest are dropped. A tensor has two samples.
  allocation_log(c10::Device device, std::size_t capacity)
      : ProfilerStateBase{torch::profiler::impl::ProfilerConfig{torch::profiler::impl::ProfilerState::Disabled, false, true}},
        device_{device},
        samples_(capacity) {}

  /// Ignores all later reports.
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
  std::size_t count_ = 0;               ///< number of all samples reported
  std::optional<failed_allocation> failure_;
  bool is_stopped_ = false;
};

}  // namespace trainer
