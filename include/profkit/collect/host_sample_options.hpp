// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace profkit {

/// @brief Options of `host_samples`.
struct host_sample_options {
  double per_second = 1000.0;   ///< samples per second of processor time of each thread; from 1 to 10,000
  bool use_perf_events = true;  ///< false: use timers and signals even if the system permits `perf_event_open`
};

}  // namespace profkit
