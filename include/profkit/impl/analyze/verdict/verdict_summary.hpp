// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../../../time.hpp"
#include "../../profile/own_memory.hpp"

namespace profkit {

/// @brief Whether the warm-up of a series of steps was long enough.
enum class warmup_finding : std::uint8_t {
  unknown = 0,       ///< too few steps to tell
  enough = 1,        ///< the measured steps are of one kind
  too_short = 2,     ///< further steps at the beginning differ from the rest
  never_steady = 3,  ///< the steps changed in the second half of the series, which is not warm-up
  drifting = 4,      ///< the steps get longer or shorter throughout
};

/// @brief How the values of a series differ. Definitions: docs/statistics.md.
enum class series_shape : std::uint8_t {
  too_short = 0,   ///< fewer than 10 values: nothing is said
  even = 1,        ///< independent values of one kind
  correlated = 2,  ///< neighbours resemble each other
  mixed = 3,       ///< two kinds of values in random order, such as 1 in 50 that is 10 times as long
  levels = 4,      ///< two or more levels that last for several values each
  periodic = 5,    ///< the values repeat
  tailed = 6,      ///< a few values have much of the sum, and no two of them are alike
};

/// @brief How the times of the measured steps differ.
struct step_pattern {
  series_shape shape = series_shape::even;  ///< one of `mixed`, `levels`, `periodic`, `tailed`
  std::uint64_t others = 0;                 ///< number of steps that are not usual; 0 if they cannot be told apart
  std::uint64_t runs = 0;                   ///< number of uninterrupted sequences of them
  milliseconds usual{};                     ///< median of the usual steps
  milliseconds other{};                     ///< median of the others
  std::uint64_t period = 0;                 ///< in steps; 0 if they do not repeat
  detail::own_vector<std::uint64_t> first;  ///< `step_record::index` of at most three of them
  double moved = 0.0;                       ///< change of the mean by them, relative
};

/// @brief Whether the times of the measured steps are reliable. The first verdict that applies, in the order `throttled`, `too_few` with
/// fewer than 10 steps, `still_warming`, `drifting`, `uneven`, `noisy`, `too_few`, `stable`. Rules and error rates: docs/statistics.md.
enum class step_verdict : std::uint8_t {
  too_few = 0,        ///< no fault found, but too few measured steps for `stable`
  stable = 1,         ///< the mean is known to 1 %, and at most a tenth of the steps are outliers
  noisy = 2,          ///< the mean is not known to 1 %, or more than a tenth of the steps are outliers
  drifting = 3,       ///< the steps got longer or shorter during the measurement
  still_warming = 4,  ///< the first measured steps belong to the warm-up
  throttled = 5,      ///< a device reduced its clocks because of heat or power
  uneven = 6,         ///< the steps are not of one kind: see `step_pattern`
};

/// @brief The verdict on the times of the measured steps: host times, times between CUDA events, or GPU periods.
struct verdict_summary {
  step_verdict verdict = step_verdict::too_few;  ///< the verdict
  std::uint64_t measured = 0;                    ///< number of measured steps
  std::optional<milliseconds> mad;               ///< median absolute deviation; n/a without steps
  std::optional<milliseconds> ci95_low;          ///< lower end of the 95 % interval of the mean; n/a with fewer than two steps
  std::optional<milliseconds> ci95_high;         ///< upper end; n/a like the lower end, and so are the next two
  std::optional<double> relative_half_width;     ///< half-width of the interval relative to the mean
  std::optional<double> cautious_half_width;     ///< the same with a higher weight of slow changes, which fewer than 100 steps do not show
  std::optional<double> effective_samples;       ///< number of independent steps that give an interval of the same width
  std::uint64_t outliers = 0;                    ///< number of outliers; all figures include them
  std::optional<double> drift;          ///< from the first step to the last, relative to the median; n/a with fewer than four steps
  std::optional<double> drift_p_value;  ///< probability of a drift this large by chance
  bool has_drift = false;               ///< the drift is beyond chance, and there is no level change
  std::uint64_t warmup = 0;             ///< number of warm-up steps
  warmup_finding finding = warmup_finding::unknown;  ///< whether that was enough
  /// @brief `step_record::index` of the first steady step, which is also the sufficient number of warm-up steps. For `never_steady`, the
  /// index of the last change. n/a if `finding` is unknown, and for a warm-up that ends gradually.
  std::optional<std::uint64_t> steady_from;
  double change = 0.0;                  ///< change of the mean there, relative to the measured steps before; 0 if there is none
  std::optional<step_pattern> pattern;  ///< n/a if the steps are of one kind, or too few
};

/// @brief Clocks, power and temperature of one device, from readings after measured steps. Source: NVML.
struct clock_summary {
  std::int32_t device = 0;                   ///< device number
  std::uint64_t readings = 0;                ///< number of readings
  std::uint64_t throttled_readings = 0;      ///< number of readings that show throttling: see `is_throttled`
  std::uint32_t min_mhz = 0;                 ///< minimum SM clock as read
  double mean_mhz = 0.0;                     ///< mean SM clock as read
  std::uint32_t max_mhz = 0;                 ///< maximum SM clock as read
  std::uint32_t device_max_mhz = 0;          ///< maximum SM clock of the device
  std::uint64_t reasons = 0;                 ///< union of `device_clock_record::reasons`
  std::optional<double> mean_watt;           ///< n/a, like the next members, if the device does not report it
  std::optional<double> max_watt;            ///< maximum power draw
  std::optional<std::uint32_t> max_celsius;  ///< maximum temperature in degrees Celsius
};

}  // namespace profkit
