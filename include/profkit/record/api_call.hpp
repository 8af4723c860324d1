// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "site.hpp"
#include "unusual_scope.hpp"

namespace profkit::detail {

/// Records that this thread enters an API call that launches GPU operations, or that waits for a device. In the log it stands between the
/// events of the scopes, so that which scopes are open is never a question of clocks.
/// @return what `end_api_call` takes; 0 if it was not recorded.
inline open_scope_word begin_api_call(site& where, std::uint64_t correlation) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  return record_enter(flags, tagged(where, event_kind::begin_call), correlation);
}

/// On the thread that made the call.
inline void end_api_call(open_scope_word call) noexcept {
  if (call != 0) record_leave(call, ticks(__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED)));
}

}  // namespace profkit::detail
