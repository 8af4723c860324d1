// SPDX-License-Identifier: Apache-2.0
#include "memory/memory_snapshot.hpp"

#include "errors.hpp"

#if TRAINER_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/cuda/memory_snapshot.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "memory/allocation_log.hpp"
#endif

namespace trainer {

#if TRAINER_WITH_CUDA

namespace {

/// The viewer passes all events of a device as arguments of one JavaScript call; Safari accepts at most 65,536.
constexpr std::size_t max_events = 60'000;
constexpr std::size_t max_samples = std::size_t{1} << 18U;

/// @param what "all" events, or nullopt, which drops the recording.
void record_history(std::optional<std::string> const& what) {
  // No call stacks: walking them makes each allocation slow, and resolving them reads gigabytes of libraries.
  std::optional<std::string> const context;
  torch::cuda::_record_memory_history(what, context, "python", max_events, /*clearHistory=*/true);
}

/// Outlives the recorder, because the observer may run while the recorder is destroyed.
struct recording {
  std::optional<std::string> snapshot;
  bool is_over = false;
};

}  // namespace

class memory_recorder::state {
 public:
  explicit state(std::int8_t device_index)
      : log_{std::make_shared<allocation_log>(c10::Device{c10::kCUDA, device_index}, max_samples)},
        recording_{std::make_shared<recording>()},
        current_{c10::DebugInfoKind::PROFILER_STATE, log_} {
    record_history("all");
    // The allocator never removes an observer. It calls observers without a lock, on the thread whose allocation failed. A backward pass
    // ends before the thread that waits for it continues.
    c10::cuda::CUDACachingAllocator::attachOutOfMemoryObserver(
        [weak = std::weak_ptr{recording_}](std::int64_t, std::size_t, std::size_t, std::size_t) noexcept {
          auto const current = weak.lock();
          if (!current || current->is_over) return;
          try {
            current->snapshot = torch::cuda::_memory_snapshot_pickled();
          } catch (std::exception const&) {
            // Running out of memory is the error to report.
          }
        });
  }

  ~state() {
    try {
      end();
    } catch (std::exception const&) {
      // The recording is dropped, so its error does not matter.
    }
  }

  void stop() {
    if (recording_->is_over) return;
    recording_->snapshot = torch::cuda::_memory_snapshot_pickled();
    end();
  }

  [[nodiscard]] std::string const& pickled() {
    if (!recording_->snapshot) stop();
    return *recording_->snapshot;
  }

  [[nodiscard]] memory_history history() const { return log_->history(); }

 private:
  void end() {
    if (recording_->is_over) return;
    recording_->is_over = true;
    log_->stop();
    record_history(std::nullopt);
  }

  std::shared_ptr<allocation_log> log_;
  std::shared_ptr<recording> recording_;
  c10::DebugInfoGuard current_;
};

#else

class memory_recorder::state {
 public:
  explicit state(std::int8_t) {}
  void stop() {}
  [[nodiscard]] std::string const& pickled() const noexcept { return nothing_; }
  [[nodiscard]] memory_history history() const { return {}; }

 private:
  std::string nothing_;
};

#endif

memory_recorder::memory_recorder(compute_device const& device) {
  if (!device.is_cuda()) {
    throw input_error{"--memory-snapshot: records LibTorch's GPU allocator, and this run uses the CPU; remove it, or use a GPU"};
  }
  state_ = std::make_unique<state>(device.index());
}

memory_recorder::~memory_recorder() = default;

void memory_recorder::stop() { state_->stop(); }

std::string const& memory_recorder::pickled() { return state_->pickled(); }

memory_history memory_recorder::history() const { return state_->history(); }

}  // namespace trainer
