// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>

#include "analyze_options.hpp"
#include "gpu/device_clocks.hpp"
#include "gpu/device_utilization.hpp"
#include "kinds/kind_table.hpp"
#include "memory/memory_sums.hpp"
#include "merge/gpu_figures.hpp"
#include "merge/joined_stretches.hpp"
#include "merge/merged_counters.hpp"
#include "merge/merged_paths.hpp"
#include "merge/merged_readings.hpp"
#include "merge/session_header.hpp"
#include "merge/stretch_figures.hpp"
#include "samples/sample_sums.hpp"
#include "time/adopted_sums.hpp"
#include "time/scope_times.hpp"
#include "work/scope_work.hpp"

namespace profkit::detail {

/// The figures that `analysis` accumulates.
struct analysis_parts {
  analyze_options options;  ///< rules for kernel classes
  bool has_any = false;     ///< a window was added
  bool has_steps = false;   ///< only measured steps count; false: the whole session
  session_header header;
  merged_paths paths;
  scope_times scopes;
  merged_counters counters;
  merged_readings readings;
  merged_clocks clocks;
  merged_utilization utilization;
  memory_sums memory;
  gpu_figures gpu;
  kind_table kinds;
  adopted_sums adopted;
  work_by_path work;
  sample_sums samples;
  std::set<std::int32_t> devices;
  joined_stretches<stretch_figures> stretches;
};

}  // namespace profkit::detail
