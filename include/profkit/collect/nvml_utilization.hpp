// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "nvml_library.hpp"

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
  /// @throws profkit::error if NVML is missing or too old.
  nvml_utilization() {
    nvml.load("nvmlDeviceGetUtilizationRates", rates);
    static_cast<void>(nvml.find("nvmlDeviceGetMigMode", mig_mode_));
    has_gpm_ = nvml.find("nvmlGpmQueryDeviceSupport", gpm_support_) && nvml.find("nvmlGpmSampleAlloc", gpm_allocate) &&
               nvml.find("nvmlGpmSampleFree", gpm_free) && nvml.find("nvmlGpmSampleGet", gpm_sample) &&
               nvml.find("nvmlGpmMetricsGet", gpm_metrics);
  }

  nvml_library nvml{};
  int (*rates)(nvml_library::device, nvml_utilization_rates*) = nullptr;
  int (*gpm_allocate)(void**) = nullptr;
  int (*gpm_free)(void*) = nullptr;
  int (*gpm_sample)(nvml_library::device, void*) = nullptr;
  int (*gpm_metrics)(gpm_metrics_get*) = nullptr;

  /// Whether the device has GPM counters.
  [[nodiscard]] bool has_gpm(nvml_library::device device) const {
    gpm_support support;
    return has_gpm_ && gpm_support_(device, &support) == nvml_library::success && support.is_supported != 0;
  }

  /// Whether the device is divided into instances.
  [[nodiscard]] bool is_divided(nvml_library::device device) const {
    unsigned current = 0;
    unsigned pending = 0;
    return mig_mode_ != nullptr && mig_mode_(device, &current, &pending) == nvml_library::success && current != 0;
  }

 private:
  bool has_gpm_ = false;
  int (*gpm_support_)(nvml_library::device, gpm_support*) = nullptr;
  int (*mig_mode_)(nvml_library::device, unsigned*, unsigned*) = nullptr;
};

}  // namespace profkit::detail
