// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// A value that the test changes or reads while the session's thread uses it.
template <class T>
struct shared_value {
  shared_value() = default;
  shared_value(T initial) : value{initial} {}
  shared_value(shared_value const& other) : value{other.value.load()} {}
  shared_value& operator=(shared_value const& other) { return *this = other.value.load(); }
  shared_value& operator=(T to) {
    value = to;
    return *this;
  }
  operator T() const { return value; }
  T operator++() { return ++value; }

  std::atomic<T> value{};
};

/// The values that the imitated NVML returns, and counts of its calls. `fake_nvml_state` in the library.
struct fake_nvml {
  shared_value<unsigned> sm_mhz = 1980;
  shared_value<unsigned long long> reasons;
  shared_value<unsigned> delay_us;  ///< duration of a reading of the clock

  char bus_id[32] = {};
  int users = 0;  ///< calls of nvmlInit_v2 without nvmlShutdown

  // How the device is used.
  unsigned has_gpm = 1;
  unsigned is_divided = 0;            ///< in MIG mode
  shared_value<double> metrics[100];  ///< by NVML_GPM_METRIC_*
  bool fails[100] = {};               ///< metrics that cannot be read
  unsigned gpu_percent = 0;           ///< utilization rates
  unsigned memory_percent = 0;
  int samples = 0;                     ///< number of existing GPM samples
  shared_value<int> sample_readings;   ///< number of GPM readings
  shared_value<int> rate_readings;     ///< number of readings of utilization rates
  int wrong_calls = 0;                 ///< calls that the real NVML would refuse
  int failing_reading = 0;             ///< the GPM reading with this number, from 1, fails
  shared_value<unsigned long> reader;  ///< the thread of the last reading

  // Energy: the counter grows by the power, and changes at each multiple of an interval.
  shared_value<unsigned> watt;
  shared_value<unsigned> energy_changes_every_ms;
};
