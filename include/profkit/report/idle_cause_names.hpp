// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "../analyze/summary.hpp"

namespace profkit::detail {

/// The names of `idle_cause` in tables and traces, by value.
inline constexpr std::array<char const*, idle_causes> idle_cause_names{"launch-bound", "host-bound", "synchronisation", "copies", "queued"};

}  // namespace profkit::detail
