// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "../profile/finite.hpp"
#include "document.hpp"
#include "number_format.hpp"

// Numbers with units and decimals that do not depend on their values, so that the files of two runs can be compared line by line.

namespace profkit::detail {

/// "ms", "us", "MiB"; empty if numbers of the kind have no unit.
inline char const* fixed_unit(column_kind kind) {
  switch (kind) {
    case column_kind::milliseconds:
    case column_kind::range:
      return "ms";
    case column_kind::duration:
    case column_kind::logarithmic_range:
      return "us";
    case column_kind::bytes:
      return "MiB";
    default:
      return "";
  }
}

/// A number of a column: milliseconds with three decimals, microseconds with two, "25.0 %", MiB with one.
/// @param has_fractions whether the column has counts that are not whole numbers, such as launches per step.
inline std::string fixed_text(column_kind kind, double value, bool has_fractions) {
  if (kind == column_kind::real) return format_real(value);
  if (!is_finite(value)) return not_measured;
  switch (kind) {
    case column_kind::milliseconds:
    case column_kind::range:
      return fmt::format("{:.3f}", value);
    case column_kind::duration:
    case column_kind::logarithmic_range:
      return fmt::format("{:.2f}", 1000.0 * value);
    case column_kind::bytes:
      return fmt::format("{:.1f}", value / (1024.0 * 1024.0));
    case column_kind::share:
    case column_kind::change:
      return fmt::format("{:.1f} %", 100.0 * value);
    default:
      return fmt::format("{:.{}f}", value, has_fractions ? 1 : 0);
  }
}

}  // namespace profkit::detail
