// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "../../collector.hpp"
#include "../record/calendar_clock.hpp"
#include "../record/handoff_queue.hpp"
#include "cuda_environment.hpp"
#include "cuda_error.hpp"
#include "nvml_library.hpp"

namespace profkit {

/// @brief Reads the SM clock, throttle reasons, power and temperature of the current device with NVML. The verdict `throttled` needs it.
///
/// Reads between steps: after the first measured step, then at most every 50 ms and at most 1 % of the time. It also reads at the end of
/// the session if that is within 50 ms of the last step. Does not synchronise the device.
///
/// Add it after a `cuda_step_timer`; otherwise the event at the end of a step waits for the reading:
///
///     session.collect(profkit::cuda_step_timer(stream));
///     session.collect(profkit::gpu_clocks());
///
/// No step time includes a reading. If a reading fails, the collector
/// stops and the report states the reason. Units: `device_clock_record`; one device per collector.
/// Source: NVML API Reference.
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

  /// @brief Reads the device if a reading is due. Ignores excluded steps.
  /// @throws profkit::error if the device stopped reporting its clocks.
  void after_step(step_record const& step) override {
    if (step.is_excluded) return;
    auto const now = std::chrono::steady_clock::now();
    last_step_ = {step.index, now, step.warmup};
    bool const is_first_measured = !step.warmup && !has_measured_;
    if (!is_first_measured && now < next_reading_) return;
    has_measured_ = has_measured_ || !step.warmup;
    records_.push(read(step.index));
    last_step_.reset();
    auto const end = std::chrono::steady_clock::now();
    next_reading_ = end + std::max<std::chrono::steady_clock::duration>(min_interval, 100 * (end - now));
  }

  /// @brief Adds the readings to the profile (`profile::device_clocks`). The last call may read once more.
  void drain(profile_builder& into, bool last) override {
    if (last && ended_recently() && !last_step_->warmup) records_.push(read(last_step_->index));
    records_.take_all([&](device_clock_record const& each) { into.add(each); });
  }

  /// @brief Closes NVML.
  void stop() override { nvml_.reset(); }

 private:
  /// A step that no reading followed.
  struct ended_step {
    std::uint64_t index = 0;
    std::chrono::steady_clock::time_point end;
    bool warmup = false;
  };

  static constexpr std::chrono::milliseconds min_interval{50};  ///< between the end of a reading and the next one

  [[nodiscard]] bool ended_recently() const { return last_step_ && std::chrono::steady_clock::now() - last_step_->end < min_interval; }

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
  bool has_measured_ = false;            ///< a reading followed a measured step
  std::optional<ended_step> last_step_;  ///< n/a if a reading followed the step
  std::chrono::steady_clock::time_point next_reading_{};
  detail::handoff_queue<device_clock_record> records_;  ///< from the step thread to the session's thread
};

}  // namespace profkit
