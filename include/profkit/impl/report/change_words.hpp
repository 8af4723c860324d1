// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "../../document.hpp"
#include "../profile/numbers.hpp"
#include "number_format.hpp"
#include "numbers.hpp"

namespace profkit::detail {

/// 0.25 -> "+25.0 %".
inline std::string change_words(double change) {
  if (!is_finite(change)) return not_measured;
  double const percent = 100.0 * change;
  std::string const digits = with_thousands(fmt::format("{:.1f}", std::abs(percent)));
  return (std::abs(percent) < 0.05 ? "" : percent < 0.0 ? "\xe2\x88\x92" : "+") + digits + "\xc2\xa0%";
}

/// "+25.0 %, range +20.1 % to +30.2 %".
inline std::string change_words(change_cell const& change) {
  return change_words(change.change) + ", range " + change_words(change.low) + " to " + change_words(change.high);
}

}  // namespace profkit::detail
