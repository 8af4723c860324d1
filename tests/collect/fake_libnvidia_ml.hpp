// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The values that the imitated NVML returns, and counts of its calls. `fake_nvml_state` in the library.
struct fake_nvml {
  unsigned sm_mhz = 1980;
  unsigned long long reasons = 0;

  char bus_id[32] = {};
  int users = 0;     ///< calls of nvmlInit_v2 without nvmlShutdown
  int readings = 0;  ///< number of clock readings
};
