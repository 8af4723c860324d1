// SPDX-License-Identifier: Apache-2.0
//
// Replaces NVML, libnvidia-ml.so.1, in tests that need no GPU. FAKE_NVML="nvmlInit_v2=9" makes a function fail. With FAKE_OLD_DRIVER it has
// only the older name of the function for clock reasons.
#include "fake_libnvidia_ml.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
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

char const* nvmlErrorString(int status) {
  return status == 9 ? "Driver Not Loaded" : status == 15 ? "GPU is lost" : status == 3 ? "Not Supported" : "Unknown Error";
}
int nvmlInit_v2() {
  int const status = status_of("nvmlInit_v2");
  if (status == 0) ++fake_nvml_state.users;
  return status;
}
int nvmlShutdown() { return --fake_nvml_state.users, 0; }
int nvmlDeviceGetHandleByPciBusId_v2(char const* bus_id, void** device) {
  std::strncpy(fake_nvml_state.bus_id, bus_id, sizeof fake_nvml_state.bus_id - 1);
  *device = &fake_nvml_state;
  return status_of("nvmlDeviceGetHandleByPciBusId_v2");
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  if (device != &fake_nvml_state || type != 1) return 2;  // invalid argument; 1 is the clock of the SMs
  ::usleep(fake_nvml_state.delay_us);
  *mhz = fake_nvml_state.sm_mhz;
  return status_of("nvmlDeviceGetClockInfo");
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) { return *mhz = 1980, type == 1 ? 0 : 2; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatt) { return *milliwatt = 512'000, status_of("nvmlDeviceGetPowerUsage"); }
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* celsius) { return *celsius = 61, sensor == 0 ? 0 : 2; }

int nvmlDeviceGetUtilizationRates(void* device, unsigned (*rates)[2]) {
  if (device != &fake_nvml_state) return 2;
  ++fake_nvml_state.rate_readings;
  fake_nvml_state.reader = ::pthread_self();
  (*rates)[0] = fake_nvml_state.gpu_percent;
  (*rates)[1] = fake_nvml_state.memory_percent;
  return status_of("nvmlDeviceGetUtilizationRates");
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (device != &fake_nvml_state) return 2;
  auto const since_boot = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::milliseconds{1};
  unsigned const every = fake_nvml_state.energy_changes_every_ms;
  if (every == 0) return 3;
  *millijoules = static_cast<unsigned long long>(since_boot) / every * every * fake_nvml_state.watt;
  return status_of("nvmlDeviceGetTotalEnergyConsumption");
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) { return *current = *pending = fake_nvml_state.is_divided, 0; }

#ifndef FAKE_OLD_DRIVER
// As in nvml.h of CUDA 13, and independent of what profkit declares.
struct fake_sample {
  double counters[100];  ///< each grows by the metric from reading to reading
  int reading;
};
struct fake_metric {
  unsigned metric;
  int status;
  double value;
  char const* names[3];
};
struct fake_metrics_get {
  unsigned version;
  unsigned count;
  fake_sample* first;
  fake_sample* second;
  fake_metric metrics[333];
};

int nvmlGpmQueryDeviceSupport(void* device, unsigned (*support)[2]) {
  if (device != &fake_nvml_state || (*support)[0] != 1) return 2;
  (*support)[1] = fake_nvml_state.has_gpm;
  return status_of("nvmlGpmQueryDeviceSupport");
}
int nvmlGpmSampleAlloc(fake_sample** sample) {
  *sample = new fake_sample{};
  ++fake_nvml_state.samples;
  return status_of("nvmlGpmSampleAlloc");
}
int nvmlGpmSampleFree(fake_sample* sample) {
  delete sample;
  return --fake_nvml_state.samples, 0;
}
int nvmlGpmSampleGet(void* device, fake_sample* sample) {
  if (device != &fake_nvml_state || sample == nullptr) return 2;
  static double counters[100];
  sample->reading = ++fake_nvml_state.sample_readings;
  fake_nvml_state.reader = ::pthread_self();
  for (int i = 0; i < 100; ++i) sample->counters[i] = counters[i] += fake_nvml_state.metrics[i];
  return sample->reading == fake_nvml_state.failing_reading ? 15 : status_of("nvmlGpmSampleGet");
}
int nvmlGpmMetricsGet(fake_metrics_get* get) {
  bool const is_right = get->version == 1 && get->count <= 333 && get->first != nullptr && get->second != nullptr &&
                        get->first->reading < get->second->reading;
  if (!is_right) return ++fake_nvml_state.wrong_calls, 2;
  for (unsigned i = 0; i < get->count; ++i) {
    fake_metric& each = get->metrics[i];
    each.status = each.metric < 1 || each.metric >= 100 || fake_nvml_state.fails[each.metric] ? 3 : 0;
    if (each.status == 0) each.value = get->second->counters[each.metric] - get->first->counters[each.metric];
    each.names[0] = each.names[1] = each.names[2] = "";
  }
  return status_of("nvmlGpmMetricsGet");
}
#endif

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
