// SPDX-License-Identifier: Apache-2.0
//
// Replaces NVML, libnvidia-ml.so.1, in tests that need no GPU. FAKE_NVML="nvmlInit_v2=9" makes a function fail. With FAKE_OLD_DRIVER it has
// only the older name of the function for clock reasons.
#include "fake_libnvidia_ml.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int status_of(char const* function) {
  char const* const text = std::getenv("FAKE_NVML");
  std::string const wanted = std::string{function} + "=";
  if (text == nullptr || std::string{text}.substr(0, wanted.size()) != wanted) return 0;
  return std::atoi(text + wanted.size());
}

}  // namespace

extern "C" {

fake_nvml fake_nvml_state{};

char const* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : status == 3 ? "Not Supported" : "Unknown Error"; }
int nvmlInit_v2() { return ++fake_nvml_state.users, status_of("nvmlInit_v2"); }
int nvmlShutdown() { return --fake_nvml_state.users, 0; }
int nvmlDeviceGetHandleByPciBusId_v2(char const* bus_id, void** device) {
  std::strncpy(fake_nvml_state.bus_id, bus_id, sizeof fake_nvml_state.bus_id - 1);
  *device = &fake_nvml_state;
  return status_of("nvmlDeviceGetHandleByPciBusId_v2");
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  if (device != &fake_nvml_state || type != 1) return 2;  // invalid argument; 1 is the clock of the SMs
  ++fake_nvml_state.readings;
  *mhz = fake_nvml_state.sm_mhz;
  return status_of("nvmlDeviceGetClockInfo");
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) { return *mhz = 1980, type == 1 ? 0 : 2; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatt) { return *milliwatt = 512'000, status_of("nvmlDeviceGetPowerUsage"); }
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) { return *celsius = 61, sensor == 0 ? 0 : 2; }

#ifdef FAKE_OLD_DRIVER
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons)
#else
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons)
#endif
{
  *reasons = fake_nvml_state.reasons;
  return 0;
}

}  // extern "C"
