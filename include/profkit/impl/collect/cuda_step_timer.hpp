// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "../../collector.hpp"
#include "../profile/own_containers.hpp"
#include "../record/handoff_queue.hpp"
#include "cuda_environment.hpp"
#include "cuda_event_pair.hpp"

namespace profkit {

/// @brief Times each step on a stream between two CUDA events. Source: `cudaEventElapsedTime`, resolution about 0.5 us.
///
/// Does not synchronise the device: events are read when they are complete, and reused. At the end of the session it waits at most 5
/// seconds for pending events. A step that begins or ends under stream capture has no GPU time. `quality_record::unread_gpu_times` counts
/// steps without a GPU time.
///
///     session.collect(profkit::cuda_step_timer(stream));
///
/// Its functions run between steps, so host step times exclude them. Add the
/// timer before collectors that take long in `after_step`, such as `gpu_clocks`; otherwise the second event is recorded late.
class cuda_step_timer final : public collector {
 public:
  /// @brief Creates a timer; the session starts it.
  /// @param stream borrowed; must belong to the device that is current when the session takes the timer.
  explicit cuda_step_timer(cudaStream_t stream) noexcept : stream_{stream} {}

  /// @brief "cuda step timer".
  [[nodiscard]] std::string_view name() const noexcept override { return "cuda step timer"; }
  /// @brief True.
  [[nodiscard]] bool times_steps() const noexcept override { return true; }

  /// @brief Describes the current device in the environment of the profile and creates events.
  /// @throws profkit::error if there is no usable device.
  void start(profile_builder& into) override {
    device_ = detail::describe_cuda(into.environment());
    detail::find_stream_calls();
    context_ = detail::current_cuda_context();
    for (std::size_t i = 0; i < pairs_at_start; ++i) free_.emplace_back();
  }

  /// @brief Records the first event, and reads the times of complete earlier steps. If the event cannot be recorded, the step has no time.
  void before_step(step_record const& step) override {
    ++untimed_;  // until its time is read
    if (detail::is_capturing(stream_)) return;
    poll();
    if (free_.empty()) free_.emplace_back();
    if (!free_.back().begin.record(stream_)) return;
    open_ = timed_step{std::move(free_.back()), step.index};
    free_.pop_back();
  }

  /// @brief Records the second event. Does not wait for the stream.
  void after_step(step_record const&) override {
    if (!open_) return;
    if (!detail::is_capturing(stream_) && open_->events.end.record(stream_)) {
      pending_.push_back(std::move(*open_));
    } else {
      free_.push_back(std::move(open_->events));
    }
    open_.reset();
  }

  /// @brief Reads complete events, for `steps=auto`. Does not wait for others.
  void read_step_times() override { poll(); }

  /// @brief Adds the GPU step times (`profile::gpu_steps`, in nanoseconds) to the profile. The last call waits up to 5 seconds for pending
  /// events.
  void drain(profile_builder& into, bool last) override {
    if (last) {
      detail::context_guard const on_device{context_};
      poll();
      detail::poll_at_end([this] {
        poll();
        return !pending_.empty();
      });
      into.count(&quality_record::unread_gpu_times, untimed_);
      untimed_ = 0;
    }
    records_.take_all([&](gpu_step_record const& each) { into.add(each); });
  }

 private:
  /// A step and the events at its ends.
  struct timed_step {
    detail::cuda_event_pair events;
    std::uint64_t step = 0;
  };

  /// Sufficient to create no events after the first step if the device is a few steps behind.
  static constexpr std::size_t pairs_at_start = 16;
  static constexpr int max_reads = 16;  ///< limits the time between two steps

  /// Reads up to `max_reads` complete events, because the next step waits for this function. To be called on the step
  /// thread, or with `context_`.
  void poll() {
    if (detail::has_unseen_cuda_error()) return;
    detail::relaxed_capture_mode const relaxed;
    for (int reads = 0; reads < max_reads && !pending_.empty(); ++reads) {
      std::chrono::nanoseconds duration{};
      auto const state = pending_.front().events.query(duration);
      if (state == detail::cuda_event_pair::state::pending) return;
      if (state == detail::cuda_event_pair::state::ready) {
        records_.push({pending_.front().step, device_, duration});
        --untimed_;
      }
      free_.push_back(std::move(pending_.front().events));
      pending_.pop_front();
    }
  }

  cudaStream_t stream_;                               ///< borrowed
  std::int32_t device_ = 0;                           ///< current device at `start`
  CUcontext context_ = nullptr;                       ///< its context
  detail::own_vector<detail::cuda_event_pair> free_;  ///< events that the next steps reuse
  detail::own_deque<timed_step> pending_;             ///< ended steps with unread events, in order
  detail::handoff_queue<gpu_step_record> records_;    ///< from the step thread to the session's thread
  std::optional<timed_step> open_;                    ///< the running step, if its first event was recorded
  std::uint64_t untimed_ = 0;                         ///< steps without a time so far
};

}  // namespace profkit
