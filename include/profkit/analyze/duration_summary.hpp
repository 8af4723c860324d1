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
  std::optional<milliseconds> min;
  std::optional<milliseconds> median;
  std::optional<milliseconds> p95;
  std::optional<milliseconds> p99;
  std::optional<milliseconds> max;
};

}  // namespace profkit
