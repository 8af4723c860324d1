// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/record_types.hpp"
#include "../record/calendar_clock.hpp"
#include "../record/handoff_queue.hpp"
#include "built_in_collectors.hpp"
#include "device_windows.hpp"
#include "opened_libraries.hpp"

namespace profkit::detail {

/// The implementation of `gpu_utilization`.
class utilization_measurement final : public collector {
 public:
  explicit utilization_measurement(utilization_times const& times) : times_{times} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "gpu utilization"; }
  [[nodiscard]] collector_kind kind() const noexcept override { return collector_kind::gpu_utilization; }

  void use_clock(calendar_clock& clock) override { clock_ = &clock; }

  /// @throws profkit::error if there is no NVML, or it is too old.
  void start(profile_builder& into) override {
    static_cast<void>(into);
    nvml_ = std::make_unique<nvml_utilization>();
  }

  void before_step(step_record const& step) override { events_.push({std::chrono::steady_clock::now(), step, false, ::pthread_self()}); }
  void after_step(step_record const& step) override { events_.push({std::chrono::steady_clock::now(), step, true, ::pthread_self()}); }

  /// Reads the devices if a window begins or ends, and adds the window to the profile.
  /// @throws profkit::error if a device stopped reporting.
  void drain(profile_builder& into, bool last) override {
    events_.take_all([this](step_event const& each) { each.is_end ? end_step(each) : begin_step(each); });
    measured_run const& run = run_;
    if (last) return check_result();
    if (run.number != window_run_) devices_.clear();
    window_run_ = run.number;
    if (run.had_step && ::pthread_equal(run.thread, ::pthread_self()) != 0) {
      throw error{"the session has no background thread, and counters are not read on the step thread"};
    }
    // The step of a window must still be open, because the figures of ended steps may be complete already.
    if (!run.is_step_open) return;
    auto const now = std::chrono::steady_clock::now();
    if (devices_.empty()) {
      if (now - run.begin >= times_.before_first && now >= next_search_) {
        find_devices();
        set_begin();
      }
    } else if (now - begin_ >= times_.window) {
      end_windows(into, run.step);
    } else if (now >= next_reading_) {
      for (auto& [number, device] : devices_) device->read();
      next_reading_ = now + times_.between_readings;
    }
  }

  void stop() override {
    devices_.clear();
    nvml_.reset();
  }

 private:
  using time_point = std::chrono::steady_clock::time_point;

  /// Consecutive measured steps without a long pause between them.
  struct measured_run {
    std::uint64_t number = 0;
    std::uint64_t step = 0;  ///< the last step that began
    bool is_measured = false;
    bool is_step_open = false;
    bool had_step = false;  ///< there was a measured step, in this run or an earlier one
    time_point begin{};
    time_point last_end{};  ///< end of its last step
    ::pthread_t thread{};   ///< the step thread
  };

  /// A step began or ended.
  struct step_event {
    time_point time;
    step_record step;
    bool is_end;
    ::pthread_t thread;
  };

  void begin_step(step_event const& event) {
    // A step that is still open was abandoned.
    bool const goes_on = run_.is_measured && !run_.is_step_open && event.time - run_.last_end <= times_.max_pause;
    if (event.step.warmup || !goes_on) {
      ++run_.number;
      run_.begin = event.time;
    }
    run_.is_measured = run_.is_step_open = !event.step.warmup;
    run_.had_step = run_.had_step || !event.step.warmup;
    run_.step = event.step.index;
    run_.thread = event.thread;
  }

  void end_step(step_event const& event) {
    run_.is_step_open = false;
    run_.is_measured = run_.is_measured && !event.step.is_excluded;
    run_.last_end = event.time;
  }

  /// Begins a window on each device in use that has none, and drops devices that are no longer in use.
  void find_devices() {
    std::map<std::int32_t, std::unique_ptr<device_windows>> before = std::move(devices_);
    devices_.clear();
    for (auto const& [number, bus_id] : in_use_.find()) {
      if (auto const known = before.find(number); known != before.end()) {
        devices_.insert(before.extract(known));
        continue;
      }
      try {
        auto device = std::make_unique<device_windows>(*nvml_, number, bus_id);
        device->begin();
        devices_.emplace(number, std::move(device));
      } catch (error const& failure) {
        unusable_ = failure.what();
      }
    }
    had_device_ = had_device_ || !devices_.empty();
    next_search_ = std::chrono::steady_clock::now() + times_.between_readings;
  }

  void set_begin() {
    begin_ = std::chrono::steady_clock::now();
    begin_time_ = clock_->now();
    next_reading_ = begin_ + times_.between_readings;
  }

  /// Ends all windows. The next windows begin at the same time.
  void end_windows(profile_builder& into, std::uint64_t step) {
    own_vector<device_utilization_record> ended;
    for (auto& [number, device] : devices_) ended.push_back({{begin_time_, {}}, step, number, device->end()});
    set_begin();
    for (device_utilization_record& each : ended) {
      each.time.end = begin_time_;
      into.add(each);
    }
    ++windows_;
    find_devices();
  }

  /// @throws profkit::error with the reason if nothing was measured.
  void check_result() const {
    if (windows_ > 0) return;
    if (!unusable_.empty()) throw error{unusable_};
    measured_run const& run = run_;
    if (!run.had_step) throw error{"no step was measured"};
    if (!had_device_ && was_long(run)) throw error{"this process used no CUDA device"};
    throw error{"the measured steps were too short: a window needs " + seconds(times_.before_first + times_.window) +
                " of steps with pauses of at most " + seconds(times_.max_pause)};
  }

  [[nodiscard]] bool was_long(measured_run const& run) const { return run.last_end - run.begin >= times_.before_first + times_.window; }

  /// 1200 ms -> "1.2 s"
  static std::string seconds(std::chrono::nanoseconds time) {
    auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  }

  utilization_times times_;
  calendar_clock const* clock_ = nullptr;
  handoff_queue<step_event> events_;  ///< from the step thread to the session's thread, which uses the other members
  measured_run run_;
  std::unique_ptr<nvml_utilization> nvml_;
  devices_in_use in_use_;
  std::map<std::int32_t, std::unique_ptr<device_windows>> devices_;  ///< devices with open windows
  std::uint64_t window_run_ = 0;                                     ///< `measured_run::number` of the open windows
  time_point begin_{};                                               ///< beginning of the open windows
  timestamp begin_time_{};                                           ///< beginning of the open windows, on the session's clock
  time_point next_reading_{};
  time_point next_search_{};
  std::uint64_t windows_ = 0;
  bool had_device_ = false;
  std::string unusable_;  ///< why a device cannot be measured
};

}  // namespace profkit::detail
