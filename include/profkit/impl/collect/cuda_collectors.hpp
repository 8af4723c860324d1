// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "../../collector.hpp"
#include "../../memory_source.hpp"
#include "../profile/own_containers.hpp"
#include "../record/clock.hpp"
#include "../record/handoff_queue.hpp"
#include "cuda_driver.hpp"
#include "cuda_timing_log.hpp"
#include "device_windows.hpp"

namespace PROFKIT_NAMESPACE {

/// @brief Times each step on a stream between two CUDA events. Source: `cudaEventElapsedTime`, resolution about 0.5 us.
///
/// Does not synchronise the device: events are read when they are complete, and reused. At the end of the session it waits at most 5
/// seconds for pending events. A step that begins or ends under stream capture has no GPU time. `quality_record::unread_gpu_times` counts
/// steps without a GPU time.
///
///     session.collect(profkit::cuda_step_timer(stream));
///
/// Its functions run between steps, so host step times exclude them. Add the timer before collectors that take long in `after_step`;
/// otherwise the second event is recorded late.
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

/// @brief Memory in use on the current device, by all processes, read after steps, for at most 0.2 % of the time. The report shows the
/// maximum of these readings, because the device does not record a peak. Source: `cudaMemGetInfo`, which covers the whole device. Does not
/// synchronise the device.
class cuda_memory final : public memory_source {
 public:
  /// @brief Creates the source.
  cuda_memory() noexcept : memory_source{0.002} {}

  /// @brief "cuda device".
  [[nodiscard]] std::string_view name() const noexcept override { return "cuda device"; }

  /// @brief Describes the current device.
  /// @throws profkit::error if there is no usable device.
  void start(profile_builder& into) override { detail::describe_cuda(into.environment()); }

  /// @brief Reads the current device.
  /// @throws profkit::error if the device cannot be queried.
  [[nodiscard]] std::vector<memory_reading> read() override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    detail::cuda_check(detail::cuda.mem_get_info(&free_bytes, &total_bytes), "cudaMemGetInfo");
    return {{"used (device-wide)", total_bytes - free_bytes, std::nullopt, {}, total_bytes}};
  }

  /// @brief Polls the device that is current on the scope's thread. Costs a driver call at both ends of a scope: tens of microseconds or
  /// more.
  [[nodiscard]] polled_allocator at_scopes() const noexcept override {
    static site source{"cuda device", __FILE__, __LINE__};
    return {&source, detail::used_device_memory};
  }
};

/// @brief Reads the SM clock, throttle reasons, power and temperature of the current device with NVML. The verdict `throttled` needs it.
///
///     session.collect(profkit::gpu_clocks());
///
/// Reads on the session's thread, so that the program does not wait for NVML: in the first measured step or after it, then at most every 50
/// ms and at most 1 % of the time. It also reads at the end of the session if that is within 50 ms of the last step. Does not synchronise
/// the device. If a reading fails, the collector stops and the report states the reason. Units: `device_clock_record`; one device per
/// collector. Source: NVML API Reference.
class gpu_clocks final : public collector {
 public:
  /// @brief "gpu clocks".
  [[nodiscard]] std::string_view name() const noexcept override { return "gpu clocks"; }
  /// @brief `collector_kind::gpu_clocks`.
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::gpu_clocks; }

  /// @brief Stores the clock of the session, which times the readings.
  void use_clock(detail::calendar_clock& clock) override { clock_ = &clock; }

  /// @brief Opens NVML, finds the current CUDA device by its PCI bus id and reads once, to report errors early.
  /// @throws profkit::error if there is no usable device, no NVML, or the device does not report its clocks.
  void start(profile_builder& into) override {
    device_ = detail::describe_cuda(into.environment());
    char bus_id[32] = {};
    detail::cuda_check(detail::cuda.device_get_pci_bus_id(bus_id, static_cast<int>(sizeof bus_id), device_), "cudaDeviceGetPCIBusId");
    nvml_ = std::make_unique<detail::nvml_library>();
    nvml_->check(nvml_->device_by_pci_bus_id(bus_id, &handle_), "nvmlDeviceGetHandleByPciBusId_v2");
    nvml_->check(nvml_->max_clock_info(handle_, detail::nvml_library::sm_clock, &max_sm_mhz_), "nvmlDeviceGetMaxClockInfo");
    static_cast<void>(read(0));
  }

  /// @brief Remembers that a step runs.
  void before_step(step_record const& step) override { remember({step.index, step.warmup, true}); }
  /// @brief Remembers when the step ended, unless it was excluded.
  void after_step(step_record const& step) override {
    if (step.is_excluded) return remember(ended_);
    ended_ = {step.index, step.warmup, false};
    __atomic_store_n(&end_ns_, detail::monotonic_ns(), __ATOMIC_RELAXED);
    remember(ended_);
  }

  /// @brief Reads the device if a reading is due, and adds it to the profile (`profile::device_clocks`).
  /// @throws profkit::error if the device stopped reporting its clocks.
  void drain(profile_builder& into, bool last) override {
    known_step const step = latest();
    std::chrono::nanoseconds const begin{detail::monotonic_ns()};
    if (!is_due(step, begin, last)) return;
    has_measured_ = has_measured_ || !step.is_warmup;
    last_read_ = step.index;
    into.add(read(step.index));
    std::chrono::nanoseconds const end{detail::monotonic_ns()};
    next_reading_ = end + (std::max)(std::chrono::nanoseconds{min_interval}, 100 * (end - begin));
  }

  /// @brief Closes NVML.
  void stop() override { nvml_.reset(); }

 private:
  struct known_step {
    std::uint64_t index = no_step;
    bool is_warmup = false;
    bool is_open = false;
  };

  static constexpr std::uint64_t no_step = ~std::uint64_t{0} / 4;
  static constexpr std::chrono::milliseconds min_interval{50};  ///< between the end of a reading and the next one

  void remember(known_step const& step) noexcept {
    __atomic_store_n(&latest_, step.index * 4 + (step.is_warmup ? 2U : 0U) + (step.is_open ? 1U : 0U), __ATOMIC_RELEASE);
  }
  [[nodiscard]] known_step latest() const noexcept {
    std::uint64_t const word = __atomic_load_n(&latest_, __ATOMIC_ACQUIRE);
    return {word / 4, (word & 2U) != 0, (word & 1U) != 0};
  }

  [[nodiscard]] bool is_due(known_step const& step, std::chrono::nanoseconds now, bool last) const {
    if (step.index == no_step) return false;
    std::chrono::nanoseconds const end{__atomic_load_n(&end_ns_, __ATOMIC_RELAXED)};
    if (!step.is_open && now - end > min_interval) return false;  // says nothing about the step
    if (last) return !step.is_warmup && last_read_ != step.index;
    return (!step.is_warmup && !has_measured_) || now >= next_reading_;
  }

  /// Reads the device. Power and temperature are n/a if it does not report them.
  /// @throws profkit::error if it does not report the clock or the reasons.
  [[nodiscard]] device_clock_record read(std::uint64_t step) const {
    unsigned sm_mhz = 0;
    unsigned long long reasons = 0;
    nvml_->check(nvml_->clock_info(handle_, detail::nvml_library::sm_clock, &sm_mhz), "nvmlDeviceGetClockInfo");
    nvml_->check(nvml_->clocks_event_reasons(handle_, &reasons), "nvmlDeviceGetCurrentClocksEventReasons");
    device_clock_record result{clock_->now(), step, device_, sm_mhz, max_sm_mhz_, reasons, {}, {}};
    unsigned value = 0;
    if (nvml_->power_usage(handle_, &value) == detail::nvml_library::success) result.milliwatt = value;
    if (nvml_->temperature(handle_, detail::nvml_library::gpu_temperature, &value) == detail::nvml_library::success) result.celsius = value;
    return result;
  }

  detail::calendar_clock const* clock_ = nullptr;
  std::unique_ptr<detail::nvml_library> nvml_;
  detail::nvml_library::device handle_ = nullptr;
  std::int32_t device_ = 0;
  unsigned max_sm_mhz_ = 0;
  known_step ended_;                    ///< the last one that was not excluded; for the step thread
  std::uint64_t latest_ = no_step * 4;  ///< a `known_step`, from the step thread to the session's thread
  std::int64_t end_ns_ = 0;             ///< of `ended_`, for both threads
  std::uint64_t last_read_ = no_step;   ///< the step of the last reading
  bool has_measured_ = false;           ///< a measured step has a reading
  std::chrono::nanoseconds next_reading_{};
};

}  // namespace PROFKIT_NAMESPACE
