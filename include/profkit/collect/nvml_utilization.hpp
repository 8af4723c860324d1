// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvml_gpm.hpp"
#include "nvml_library.hpp"

namespace profkit::detail {

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
