// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the imitated NVML says, and what it was asked. `fake_nvml_state` in the library.
struct fake_nvml {
  unsigned sm_mhz = 1980;
  unsigned long long reasons = 0;

  char bus_id[32] = {};
  int users = 0;     ///< that have called nvmlInit_v2 and not nvmlShutdown
  int readings = 0;  ///< of the clock
};
