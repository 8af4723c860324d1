// SPDX-License-Identifier: Apache-2.0
#include "measure/torch_cpu_memory.hpp"

#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <profkit/scope.hpp>
#include <string>
#include <unordered_map>

namespace trainer {

namespace {

profkit::site source{torch_cpu_memory::source_name.data(), __FILE__, __LINE__};

}  // namespace

/// LibTorch calls it without a lock. Its own lock makes the order of the records the order in which they are counted. LibTorch casts the
/// PROFILER_STATE of a thread to ProfilerStateBase, so this class derives from it and reports a disabled profiler.
class torch_cpu_memory::reporter final : public torch::profiler::impl::ProfilerStateBase {
 public:
  reporter()
      : ProfilerStateBase{torch::profiler::impl::ProfilerConfig{torch::profiler::impl::ProfilerState::Disabled,
                                                                /*report_input_shapes=*/false,
                                                                /*profile_memory=*/true}} {}

  /// @param bytes size of the block; negative or 0: it was released.
  void reportMemoryUsage(void* pointer, std::int64_t bytes, std::size_t /*allocated*/, std::size_t /*reserved*/,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    std::lock_guard const lock{mutex_};
    // If the address is still known, a thread without this reporter released the block.
    release(pointer);
    if (bytes <= 0) return;
    auto const size = static_cast<std::uint64_t>(bytes);
    pieces_[pointer] = size;
    profkit::record_allocation(source, pointer, size);
    current_ += size;
    peak_ = std::max(peak_, current_);
  }

  torch::profiler::impl::ActiveProfilerType profilerType() override { return torch::profiler::impl::ActiveProfilerType::NONE; }

  [[nodiscard]] profkit::memory_reading read() const {
    std::lock_guard const lock{mutex_};
    return {"allocated", current_, peak_, "measured steps"};
  }

  void reset_peak() {
    std::lock_guard const lock{mutex_};
    peak_ = current_;
  }

 private:
  void release(void* pointer) {
    auto const piece = pieces_.find(pointer);
    if (piece == pieces_.end()) return;
    profkit::record_release(source, pointer, piece->second);
    current_ -= piece->second;
    pieces_.erase(piece);
  }

  mutable std::mutex mutex_;
  std::unordered_map<void*, std::uint64_t> pieces_;  ///< allocated since the session began and not released
  std::uint64_t current_ = 0;
  std::uint64_t peak_ = 0;
};

struct torch_cpu_memory::reporting {
  std::shared_ptr<reporter> to = std::make_shared<reporter>();
  c10::DebugInfoGuard current{c10::DebugInfoKind::PROFILER_STATE, to};
};

torch_cpu_memory::torch_cpu_memory() = default;
torch_cpu_memory::~torch_cpu_memory() = default;
torch_cpu_memory::torch_cpu_memory(torch_cpu_memory&&) noexcept = default;

void torch_cpu_memory::start(profkit::profile_builder& into) {
  into.position_of(profkit::allocator_record{std::string{source_name}, 0, false});
  reporting_ = std::make_unique<reporting>();
}

std::vector<profkit::memory_reading> torch_cpu_memory::read() { return {reporting_->to->read()}; }

void torch_cpu_memory::reset_peak() { reporting_->to->reset_peak(); }

void torch_cpu_memory::stop() { reporting_.reset(); }

}  // namespace trainer
