// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collector.hpp"
#include "cuda_environment.hpp"
#include "cuda_event_pair.hpp"

namespace profkit {

/// Times each step on a stream, between a CUDA event before it and one after it. Does not synchronise the device: an event is read
/// when it is complete, and events are used again. Only when the session ends does it wait for events, for at most 5 seconds.
/// A step that begins or ends under stream capture has no GPU time.
class cuda_step_timer final : public collector {
 public:
  /// @param stream borrowed; of the device that is current when the session takes the timer.
  explicit cuda_step_timer(cudaStream_t stream) noexcept : stream_{stream} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "cuda step timer"; }
  [[nodiscard]] bool times_steps() const noexcept override { return true; }

  /// @throws profkit::error if there is no usable device.
  void start(profile_builder& into) override {
    device_ = detail::describe_cuda(into.environment());
    for (std::size_t i = 0; i < pairs_at_start; ++i) free_.emplace_back();
  }

  void before_step(step_record const& step) override {
    ++untimed_;  // until it is
    if (detail::is_capturing(stream_)) return;
    poll();
    if (free_.empty()) free_.emplace_back();
    if (!free_.back().begin.record(stream_)) return;
    open_ = timed_step{std::move(free_.back()), step.index};
    free_.pop_back();
  }

  void after_step(step_record const&) override {
    if (!open_) return;
    if (!detail::is_capturing(stream_) && open_->events.end.record(stream_)) {
      pending_.push_back(std::move(*open_));
    } else {
      free_.push_back(std::move(open_->events));
    }
    open_.reset();
  }

  void read_step_times() override { poll(); }

  void drain(profile_builder& into, bool last) override {
    if (last) {
      poll();
      detail::poll_at_end([this] {
        poll();
        return !pending_.empty();
      });
      into.count(&quality_record::unread_gpu_times, untimed_);
      untimed_ = 0;
    }
    std::lock_guard<detail::own_mutex> const lock{mutex_};
    for (gpu_step_record const& each : records_) into.add(each);
    records_.clear();
  }

 private:
  struct timed_step {
    detail::cuda_event_pair events;
    std::uint64_t step = 0;
  };

  /// So that a device that lags a few steps behind makes no new events after the first step.
  static constexpr std::size_t pairs_at_start = 16;
  static constexpr int max_reads = 16;

  /// On the thread of the steps, or the last one: the runtime would give another thread a context on its own device. Reads a few, as the
  /// next step waits.
  void poll() {
    if (detail::has_unseen_cuda_error()) return;
    detail::relaxed_capture_mode const relaxed;
    for (int reads = 0; reads < max_reads && !pending_.empty(); ++reads) {
      std::chrono::nanoseconds duration{};
      auto const state = pending_.front().events.query(duration);
      if (state == detail::cuda_event_pair::state::pending) return;
      if (state == detail::cuda_event_pair::state::ready) {
        keep({pending_.front().step, device_, duration});
        --untimed_;
      }
      free_.push_back(std::move(pending_.front().events));
      pending_.pop_front();
    }
  }

  void keep(gpu_step_record const& time) {
    std::lock_guard<detail::own_mutex> const lock{mutex_};
    records_.push_back(time);
  }

  cudaStream_t stream_;
  std::int32_t device_ = 0;
  std::vector<detail::cuda_event_pair> free_;
  std::deque<timed_step> pending_;
  detail::own_mutex mutex_;
  std::vector<gpu_step_record> records_;  ///< under `mutex_`
  std::optional<timed_step> open_;
  std::uint64_t untimed_ = 0;  ///< steps that have no time, or none yet
};

}  // namespace profkit
