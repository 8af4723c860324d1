// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "config.hpp"
#include "errors.hpp"

namespace trainer {

/// @param text R:MS, R:MS:host, R:MS:gpu, or one of these two with a phase: R:MS:gpu:forward.
/// @throws input_error
[[nodiscard]] inline slow_rank parse_slow_rank(std::string const& text) {
  auto const fail = [&](std::string const& what) {
    throw input_error{"--slow-rank " + text + ": " + what + "; write R:MS[:host|gpu[:data|forward|backward]], as in 1:3:gpu:forward"};
  };
  std::string_view rest = text;
  auto const next = [&] {
    std::string_view const part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  auto const read = [](std::string_view part, auto& number) {
    auto const [end, status] = std::from_chars(part.data(), part.data() + part.size(), number);
    return status == std::errc{} && end == part.data() + part.size();
  };
  slow_rank slow;
  if (!read(next(), slow.rank)) fail("the rank must be a whole number of at least 0");
  if (!read(next(), slow.delay_ms) || !std::isfinite(slow.delay_ms) || slow.delay_ms <= 0.0 || slow.delay_ms > 60'000.0) {
    fail("the delay must be above 0 and at most 60000 milliseconds");
  }
  if (rest.empty()) return slow;
  auto const kind = value_of(delay_kinds, next());
  if (!kind) fail("the kind of delay must be host or gpu");
  slow.kind = *kind;
  if (rest.empty()) return slow;
  auto const phase = value_of(step_phases, rest);
  if (!phase) fail("the phase must be data, forward or backward");
  slow.phase = *phase;
  return slow;
}

}  // namespace trainer
