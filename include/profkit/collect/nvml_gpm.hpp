// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

}  // namespace profkit::detail
