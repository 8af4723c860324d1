// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "site.hpp"
#include "slow_path.hpp"

namespace profkit::detail {

/// Records that this thread enters an API call that launches GPU operations or waits for a device. The event is in the log between the
/// events of scopes. So the order of events, and not clocks, determines which scopes are open.
/// @return the argument of `end_api_call`; 0 if the call was not recorded.
inline open_scope_word begin_api_call(site& where, std::uint64_t correlation) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  return record_enter(flags, tagged(where, event_kind::begin_call), correlation);
}

/// Records that the call returns. To be called on the thread of `begin_api_call`.
inline void end_api_call(open_scope_word call) noexcept {
  if (call != 0) record_leave(call, ticks(__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED)));
}

}  // namespace profkit::detail
