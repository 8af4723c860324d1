// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "scope_node.hpp"
#include "scope_token.hpp"

namespace profkit {

/// From here on, GPU operations that this thread launches outside any scope are charged to a place that has the name of the site and lies
/// inside `under`. For the threads of a library, whose own work between the calls of the program's is known by name. Same rules as a
/// scope: neither locks, allocates nor throws; without a session it does nothing.
inline void charge_thread_to(site& name, scope_token under) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::scope_node const* const node = detail::scope_nodes.find(under.node(), detail::tagged(name, detail::event_kind::enter), 0);
  detail::thread_log* const log = detail::log_of_this_thread();
  auto const claimed = node != nullptr && log != nullptr ? log->claim(3) : 0;
  if (claimed == 0) return;
  log->rest = node;
  log->put(claimed, detail::tagged(name, detail::event_kind::thread_rest), detail::ticks(flags), reinterpret_cast<std::uint64_t>(node));
}

}  // namespace profkit
