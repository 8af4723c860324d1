// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "../../error.hpp"
#include "../profile/record_types.hpp"
#include "opened_libraries.hpp"

// The structs of NVML's GPM (GPU performance monitoring) and utilization rates, as in nvml.h of CUDA 12 and 13. Source: NVML API Reference.

namespace profkit::detail {

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

  /// Whether the device has GPM counters.
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

}  // namespace profkit::detail
