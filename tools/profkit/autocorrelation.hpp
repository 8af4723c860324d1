// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/version.hpp>

#include <algorithm>
#include <cstddef>

namespace PROFKIT_NAMESPACE {

/// @brief Corrects the bias of the plain estimate of a lag-1 autocorrelation, -(1 + 4 r) / n, and limits it to 0 to 1. The plain estimate
/// is too small for short series, because their mean is estimated too. 0 with fewer than 8 values. Source: M. G. Kendall, "Note on bias in
/// the estimation of autocorrelation", Biometrika 41 (1954).
[[nodiscard]] inline double unbiased_autocorrelation(double plain, std::size_t count) noexcept {
  constexpr std::size_t min_count = 8;
  if (count < min_count) return 0.0;
  auto const n = static_cast<double>(count);
  return std::clamp((n * plain + 1.0) / (n - 4.0), 0.0, 1.0);
}

/// @brief The effective number of independent values for the mean: n (1 - r) / (1 + r), at least 3 (or n, if that is less), because
/// Student's interval is uninformative below that. Source: F. W. Zwiers and H. von Storch, "Taking serial correlation into account in tests
/// of the mean", Journal of Climate 8 (1995).
[[nodiscard]] inline double effective_samples(std::size_t count, double autocorrelation) noexcept {
  auto const n = static_cast<double>(count);
  return std::max(std::min(n, 3.0), n * (1.0 - autocorrelation) / (1.0 + autocorrelation));
}

}  // namespace PROFKIT_NAMESPACE
