// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "../profile/time.hpp"

namespace profkit {

/// @brief Statistics of durations. Figures without enough samples are n/a.
///
/// Quantiles interpolate linearly between neighbouring samples (definition 7 of Hyndman and Fan). Quantiles of steps are exact up to 65,536
/// steps; all others have a relative error of at most 1 % (`quantile_sketch`).
struct duration_summary {
  std::uint64_t count = 0;                         ///< number of samples
  milliseconds total{};                            ///< sum of the samples
  std::optional<milliseconds> mean;                ///< `total` / `count`
  std::optional<milliseconds> standard_deviation;  ///< sample standard deviation (n - 1)
  std::optional<milliseconds> min;                 ///< shortest sample
  std::optional<milliseconds> median;              ///< 50 % quantile
  std::optional<milliseconds> p95;                 ///< 95 % quantile
  std::optional<milliseconds> p99;                 ///< 99 % quantile
  std::optional<milliseconds> max;                 ///< longest sample
};

}  // namespace profkit
