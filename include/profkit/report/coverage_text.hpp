// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "../analyze/summary.hpp"
#include "shown_text.hpp"

namespace profkit {

/// @brief States what the figures cover if there are no measured steps.
/// @param summary the figures.
/// @return a paragraph; empty with measured steps.
[[nodiscard]] inline std::string coverage_text(summary const& summary) {
  if (!summary.quality.not_recorded.empty())
    return fmt::format("Nothing was recorded: {}.\n\n", detail::one_line(summary.quality.not_recorded));
  std::string text;
  if (summary.quality.snapshot) text = "Snapshot of a running session: the figures cover the steps that ended before the snapshot.\n\n";
  if (!summary.covers_steps) return text + "No step was made (profkit::step): everything below covers the whole session.\n\n";
  if (summary.steps.host.count > 0) return text;
  text += "No step was measured; the figures of steps and scopes cover measured steps only.";
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format(" {} {}.", number, what);
  };
  count(summary.steps.warmup, "warm-up steps were made");
  count(summary.steps.excluded, "steps were excluded by the program");
  count(summary.quality.abandoned_steps, "steps were exited by an exception");
  return text + "\n\n";
}

namespace detail {

/// The text in place of an empty table. @param what its rows, such as "scope".
inline std::string nothing_text(summary const& summary, char const* what) {
  if (!summary.covers_steps) return fmt::format("no {} was recorded", what);
  return summary.steps.host.count > 0 ? fmt::format("no {} in the measured steps", what) : "no step was measured";
}

}  // namespace detail
}  // namespace profkit
