// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "../analyze/summary.hpp"
#include "shown_text.hpp"

namespace profkit {

/// What the figures cover, where that is not some measured steps; else empty. A paragraph.
[[nodiscard]] inline std::string coverage_text(summary const& of) {
  if (!of.quality.not_recorded.empty()) return fmt::format("Nothing was recorded: {}.\n\n", detail::one_line(of.quality.not_recorded));
  std::string text;
  if (of.quality.snapshot) text = "Snapshot of a session that goes on: the figures cover the steps that had ended when it was taken.\n\n";
  if (!of.covers_steps) return text + "No step was made (profkit::step): everything below covers the whole session.\n\n";
  if (of.steps.host.count > 0) return text;
  text += "No step was measured; the figures of steps and scopes cover measured steps only.";
  auto const count = [&](std::uint64_t number, char const* what) {
    if (number > 0) text += fmt::format(" {} {}.", number, what);
  };
  count(of.steps.warmup, "warm-up steps were made");
  count(of.steps.excluded, "steps were excluded by the program");
  count(of.quality.abandoned_steps, "steps were left by an exception");
  return text + "\n\n";
}

namespace detail {

/// What stands in place of an empty table. @param what such as "scope".
inline std::string nothing_text(summary const& of, char const* what) {
  if (!of.covers_steps) return fmt::format("no {} was recorded", what);
  return of.steps.host.count > 0 ? fmt::format("no {} in the measured steps", what) : "no step was measured";
}

}  // namespace detail
}  // namespace profkit
