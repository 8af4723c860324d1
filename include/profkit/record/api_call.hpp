// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "site.hpp"
#include "thread_log.hpp"

namespace profkit::detail {

/// Records that this thread enters an API call that launches GPU operations, or that waits for a device. In the log it stands between the
/// events of the scopes, so that which scopes are open is never a question of clocks.
/// @return null if it was not recorded; else what `end_api_call` takes.
inline thread_log* begin_api_call(site& where, std::uint64_t correlation) noexcept {
  std::uint32_t const flags = __atomic_load_n(&recorder.flags, __ATOMIC_RELAXED);
  if ((flags & recording) == 0) return nullptr;
  thread_log* const log = log_of_this_thread();
  if (log == nullptr || !log->reserve(4)) return nullptr;
  std::uint64_t const what = tagged(where, event_kind::begin_call);
  log->put(what, ticks(flags), correlation);
  log->opened(what);
  return log;
}

inline void end_api_call(thread_log& log) noexcept { log.close(ticks(__atomic_load_n(&recorder.flags, __ATOMIC_RELAXED))); }

}  // namespace profkit::detail
