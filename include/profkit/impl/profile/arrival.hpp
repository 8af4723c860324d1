// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "../../profile.hpp"
#include "../../time.hpp"
#include "own_memory.hpp"

namespace profkit::detail {

/// The state of a running session's data: how far it has arrived in the profile.
struct arrival {
  timestamp logs_until = timestamp::min();      ///< the logs of all threads have been read up to here
  bool has_steps = false;                       ///< a step has begun
  bool times_steps = false;                     ///< a collector adds to `profile::gpu_steps`
  std::optional<timestamp> unread_gpu_scope{};  ///< the beginning of the oldest GPU scope whose time has not been read
  own_vector<scope_record> open_scopes{};       ///< open scopes of each thread, innermost first; their ends are `timestamp::max()`
  std::optional<timestamp> open_call{};         ///< the beginning of the oldest API call that has not returned
};

}  // namespace profkit::detail
