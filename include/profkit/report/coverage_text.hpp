// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "../analyze/summary.hpp"
#include "shown_text.hpp"

namespace profkit::detail {

/// Lines that say what the figures cover if there are no measured steps, or if the session has not ended; otherwise empty.
inline std::string coverage_text(summary const& summary) {
  if (!summary.quality.not_recorded.empty()) return fmt::format("Nothing was recorded: {}.\n", one_line(summary.quality.not_recorded));
  std::string text;
  if (summary.quality.snapshot) text = "Snapshot of a running session: the figures cover the steps that ended before the snapshot.\n";
  if (!summary.covers_steps) return text + "No step was made (profkit::step): everything below covers the whole session.\n";
  if (summary.steps.host.count > 0) return text;
  text += "No step was measured; the figures of steps and scopes cover measured steps only.";
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format(" {} {}.", number, what);
  };
  count(summary.steps.warmup, "warm-up steps were made");
  count(summary.steps.excluded, "steps were excluded by the program");
  count(summary.quality.abandoned_steps, "steps were exited by an exception");
  return text + "\n";
}

/// The number of steps with kernels collected, such as "in 3 of 30 measured steps"; empty if it is all steps or none.
inline std::string collected_steps_text(summary const& summary) {
  if (!summary.gpu || !summary.covers_steps || summary.gpu->steps == summary.steps.host.count) return {};
  return fmt::format("in {} of {} measured steps", summary.gpu->steps, summary.steps.host.count);
}

/// The line below tables with GPU figures if kernels were collected in some steps only; otherwise empty.
inline std::string collected_steps_note(summary const& summary) {
  std::string const text = collected_steps_text(summary);
  return text.empty() ? text : "kernels were collected " + text + ": figures of operations, GPU and idle cover these steps\n";
}

}  // namespace profkit::detail
