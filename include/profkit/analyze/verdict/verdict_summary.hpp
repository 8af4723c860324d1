// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../../profile/time.hpp"
#include "warmup_finding.hpp"

namespace profkit {

/// Whether the times of the measured steps can be believed. The first that applies, in the order `throttled`, `too_few` with fewer than 10
/// steps, `still_warming`, `drifting`, `noisy`, `too_few`, `stable`. docs/statistics.md has the rules.
enum class step_verdict : std::uint8_t {
  too_few = 0,        ///< no fault found, but too few measured steps for `stable`
  stable = 1,         ///< the mean is known to 1 %, and at most a tenth of the steps are outliers
  noisy = 2,          ///< one of these is not so
  drifting = 3,       ///< the steps became longer or shorter while they were measured
  still_warming = 4,  ///< the first measured steps belong to the warm-up
  throttled = 5,      ///< a device had slowed down for heat or power
};

/// How far the times of the measured steps can be believed: those on the host, or those between CUDA events.
struct verdict_summary {
  step_verdict verdict = step_verdict::too_few;
  std::uint64_t measured = 0;
  std::optional<milliseconds> mad;            ///< median of the distances from the median; n/a without steps
  std::optional<milliseconds> ci95_low;       ///< 95 % interval of the mean; n/a with fewer than two steps
  std::optional<milliseconds> ci95_high;      ///< n/a there, too, like the next two
  std::optional<double> relative_half_width;  ///< of the interval, over the mean
  std::optional<double> cautious_half_width;  ///< the same if slow changes are probable, which fewer than 100 steps do not show
  std::optional<double> effective_samples;    ///< independent steps whose mean would be known as well
  std::uint64_t outliers = 0;
  std::optional<double> drift;                       ///< from the first step to the last, over the median; n/a with fewer than four steps
  std::optional<double> drift_p_value;               ///< how probable a drift this large is by chance
  std::uint64_t warmup = 0;                          ///< warm-up steps, as given
  warmup_finding finding = warmup_finding::unknown;  ///< what the steps say about that
  /// `step_record::index` of the first steady step, so as many warm-up steps are enough; for `never_steady` that of the last change; n/a
  /// where `finding` is unknown.
  std::optional<std::uint64_t> steady_from;
  double change = 0.0;  ///< what the mean becomes there, relative to that of the measured steps before; 0 if none is
};

/// What the clocks of one device ran at, by the readings after measured steps.
struct clock_summary {
  std::int32_t device = 0;
  std::uint64_t readings = 0;
  std::uint64_t throttled_readings = 0;  ///< that say so: see `is_throttled`
  std::uint32_t min_mhz = 0;             ///< of the SMs
  double mean_mhz = 0.0;
  std::uint32_t max_mhz = 0;
  std::uint32_t highest_mhz = 0;    ///< that the device can run at
  std::uint64_t reasons = 0;        ///< all that were read, for not running faster: `device_clock_record::reasons`
  std::optional<double> mean_watt;  ///< n/a, like what follows, where the device does not say
  std::optional<double> max_watt;
  std::optional<std::uint32_t> max_celsius;
};

}  // namespace profkit
