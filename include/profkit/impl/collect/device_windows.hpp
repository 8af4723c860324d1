// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../../collector.hpp"
#include "../../error.hpp"
#include "../../profile_builder.hpp"
#include "../../time.hpp"
#include "../profile/own_memory.hpp"
#include "../profile/record_types.hpp"
#include "../record/clock.hpp"
#include "../record/handoff_queue.hpp"
#include "built_in_collectors.hpp"
#include "opened_libraries.hpp"

// The structs of NVML's GPM (GPU performance monitoring) and utilization rates, as in nvml.h of CUDA 12 and 13. Source: NVML API Reference.

namespace PROFKIT_NAMESPACE::detail {

/// nvmlGpmMetric_t
struct gpm_metric {
  unsigned metric = 0;  ///< NVML_GPM_METRIC_*
  int status = 0;       ///< `value` is valid if this is 0
  double value = 0.0;   ///< percent, or MiB/s
  char const* short_name = nullptr;
  char const* long_name = nullptr;
  char const* unit = nullptr;
};

/// nvmlGpmMetricsGet_t of version 1. The length of its list differs between versions of the header (98 to 333). NVML uses only the first
/// `count` entries.
struct gpm_metrics_get {
  static constexpr unsigned current_version = 1;   ///< NVML_GPM_METRICS_GET_VERSION
  static constexpr std::size_t max_metrics = 333;  ///< NVML_GPM_METRIC_MAX of CUDA 13

  unsigned version = current_version;
  unsigned count = 0;
  void* first = nullptr;   ///< nvmlGpmSample_t: the sample at the beginning
  void* second = nullptr;  ///< the sample at the end
  gpm_metric metrics[max_metrics];
};

/// nvmlGpmSupport_t of version 1
struct gpm_support {
  unsigned version = 1;  ///< NVML_GPM_SUPPORT_VERSION
  unsigned is_supported = 0;
};

/// nvmlUtilization_t
struct nvml_utilization_rates {
  unsigned gpu = 0;     ///< percent of the time in which a kernel ran
  unsigned memory = 0;  ///< percent of the time in which the device memory was read or written
};

/// The functions of NVML that report the utilization of a device. Older drivers do not have GPM.
class nvml_utilization {
 public:
  nvml_library nvml{};  ///< @throws profkit::error if NVML is missing or too old
  int (*rates)(nvml_library::device, nvml_utilization_rates*) = nvml.needed("nvmlDeviceGetUtilizationRates");
  int (*gpm_allocate)(void**) = nvml.find("nvmlGpmSampleAlloc");
  int (*gpm_free)(void*) = nvml.find("nvmlGpmSampleFree");
  int (*gpm_sample)(nvml_library::device, void*) = nvml.find("nvmlGpmSampleGet");
  int (*gpm_metrics)(gpm_metrics_get*) = nvml.find("nvmlGpmMetricsGet");

  [[nodiscard]] bool has_gpm(nvml_library::device device) const {
    gpm_support support;
    bool const has_functions =
        gpm_support_ != nullptr && gpm_allocate != nullptr && gpm_free != nullptr && gpm_sample != nullptr && gpm_metrics != nullptr;
    return has_functions && gpm_support_(device, &support) == nvml_library::success && support.is_supported != 0;
  }

  /// Whether the device is divided into instances.
  [[nodiscard]] bool is_divided(nvml_library::device device) const {
    unsigned current = 0;
    unsigned pending = 0;
    return mig_mode_ != nullptr && mig_mode_(device, &current, &pending) == nvml_library::success && current != 0;
  }

 private:
  int (*gpm_support_)(nvml_library::device, gpm_support*) = nvml.find("nvmlGpmQueryDeviceSupport");
  int (*mig_mode_)(nvml_library::device, unsigned*, unsigned*) = nvml.find("nvmlDeviceGetMigMode");
};

/// Measures the utilization of one device in consecutive windows.
class device_windows {
 public:
  using values = decltype(device_utilization_record::values);

  /// @param nvml lives longer than this object.
  /// @throws profkit::error if NVML does not know the device, or if the device is divided into instances.
  device_windows(nvml_utilization const& nvml, std::int32_t number, std::string const& bus_id) : nvml_{nvml} {
    nvml_.nvml.check(nvml_.nvml.device_by_pci_bus_id(bus_id.c_str(), &device_), "nvmlDeviceGetHandleByPciBusId_v2");
    if (nvml_.is_divided(device_)) {
      throw error{"device " + std::to_string(number) + " is in MIG mode, and its counters are those of all instances together"};
    }
    if (!nvml_.has_gpm(device_)) return;
    metrics_ = std::make_unique<gpm_metrics_get>();
    for (void** const sample : {&metrics_->first, &metrics_->second}) {
      nvml_.nvml.check(nvml_.gpm_allocate(sample), "nvmlGpmSampleAlloc");
    }
  }

  ~device_windows() {
    if (!metrics_) return;
    for (void* const sample : {metrics_->first, metrics_->second}) {
      if (sample != nullptr) static_cast<void>(nvml_.gpm_free(sample));
    }
  }
  device_windows(device_windows const&) = delete;
  device_windows& operator=(device_windows const&) = delete;

  /// Begins a window.
  void begin() {
    if (metrics_) {
      nvml_.nvml.check(nvml_.gpm_sample(device_, metrics_->first), "nvmlGpmSampleGet");
    } else {
      gpu_percent_ = memory_percent_ = readings_ = 0;
    }
  }

  /// Reads the device during a window, unless it has counters. To be called a few times.
  void read() {
    if (metrics_) return;
    nvml_utilization_rates now;
    nvml_.nvml.check(nvml_.rates(device_, &now), "nvmlDeviceGetUtilizationRates");
    gpu_percent_ += now.gpu;
    memory_percent_ += now.memory;
    ++readings_;
  }

  /// Ends the window and begins the next one.
  [[nodiscard]] values end() { return metrics_ ? end_of_counters() : end_of_rates(); }

 private:
  struct gpm_unit {
    unsigned metric;  ///< NVML_GPM_METRIC_*
    device_unit unit;
  };
  static constexpr std::array<gpm_unit, 16> units{{{1, device_unit::busy},
                                                   {2, device_unit::sm_active},
                                                   {3, device_unit::sm_occupancy},
                                                   {4, device_unit::integer},
                                                   {5, device_unit::tensor},
                                                   {6, device_unit::tensor_fp64},
                                                   {7, device_unit::tensor_float},
                                                   {9, device_unit::tensor_integer},
                                                   {10, device_unit::dram},
                                                   {11, device_unit::fp64},
                                                   {12, device_unit::fp32},
                                                   {13, device_unit::fp16},
                                                   {20, device_unit::pcie_send},
                                                   {21, device_unit::pcie_receive},
                                                   {60, device_unit::nvlink_receive},
                                                   {61, device_unit::nvlink_send}}};

  /// @param value percent, or MiB/s.
  static std::optional<std::uint32_t> stored(device_unit unit, double value) {
    double const result = (std::round)(value * (is_rate(unit) ? 1024.0 : 1000.0));
    bool const is_valid = result >= 0.0 && result <= static_cast<double>((std::numeric_limits<std::uint32_t>::max)());  // false for NaN
    return is_valid ? std::optional{static_cast<std::uint32_t>(result)} : std::nullopt;
  }

  values end_of_counters() {
    nvml_.nvml.check(nvml_.gpm_sample(device_, metrics_->second), "nvmlGpmSampleGet");
    metrics_->version = gpm_metrics_get::current_version;
    metrics_->count = static_cast<unsigned>(units.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      metrics_->metrics[i] = {};
      metrics_->metrics[i].metric = units[i].metric;
    }
    nvml_.nvml.check(nvml_.gpm_metrics(metrics_.get()), "nvmlGpmMetricsGet");
    values result{};
    for (std::size_t i = 0; i < units.size(); ++i) {
      gpm_metric const& metric = metrics_->metrics[i];
      if (metric.status != nvml_library::success) continue;
      result[static_cast<std::size_t>(units[i].unit)] = stored(units[i].unit, metric.value);
    }
    std::swap(metrics_->first, metrics_->second);
    return result;
  }

  values end_of_rates() {
    read();
    values result{};
    auto const mean = [&](unsigned sum) { return static_cast<double>(sum) / readings_; };
    result[static_cast<std::size_t>(device_unit::busy)] = stored(device_unit::busy, mean(gpu_percent_));
    result[static_cast<std::size_t>(device_unit::memory_active)] = stored(device_unit::memory_active, mean(memory_percent_));
    begin();
    return result;
  }

  nvml_utilization const& nvml_;
  nvml_library::device device_ = nullptr;
  std::unique_ptr<gpm_metrics_get> metrics_;  ///< null without GPM
  unsigned gpu_percent_ = 0;                  ///< sums over the readings of this window
  unsigned memory_percent_ = 0;
  unsigned readings_ = 0;
};

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

}  // namespace PROFKIT_NAMESPACE::detail
