// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder.hpp"
#include "scope_node.hpp"
#include "scope_token.hpp"

namespace profkit {

/// @brief Sets the default scope of this thread. From now on, it is charged with GPU operations that the thread launches outside any scope.
///
/// For threads of a library that runs work of the program, such as an autograd engine. Does nothing without a session. Does not lock,
/// allocate or throw.
/// @param name the name of the default scope.
/// @param under its parent; an empty token for a root.
inline void set_default_scope(site& name, scope_token under) noexcept {
  std::uint32_t const flags = __atomic_load_n(&detail::recorder.flags, __ATOMIC_RELAXED);
  if ((flags & detail::recording) == 0) return;
  detail::scope_node const* const node = detail::scope_nodes.find(under.node(), detail::tagged(name, detail::event_kind::enter), 0);
  detail::thread_log* const log = detail::log_of_this_thread();
  auto const claimed = node != nullptr && log != nullptr ? log->claim(3) : 0;
  if (claimed == 0) return;
  log->default_scope = node;
  log->put(claimed, detail::tagged(name, detail::event_kind::default_scope), detail::ticks(flags), reinterpret_cast<std::uint64_t>(node));
}

}  // namespace profkit
