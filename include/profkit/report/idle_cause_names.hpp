// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "../analyze/summary.hpp"

namespace profkit::detail {

/// The names of `idle_cause` in tables and traces, by value.
inline constexpr std::array<char const*, idle_causes> idle_cause_names{"launch-bound", "host-bound", "synchronisation", "copies", "queued"};

/// Their names in report.json.
inline constexpr std::array<char const*, idle_causes> idle_cause_keys{"launch_bound_ms", "host_bound_ms", "synchronisation_ms", "copies_ms",
                                                                      "queued_ms"};

}  // namespace profkit::detail
