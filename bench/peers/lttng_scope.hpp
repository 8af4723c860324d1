// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lttng_events.h"

/// LTTng-UST has tracepoints and no scopes: one at the beginning, with the address of the name, and one at the end.
struct peer_scope {
  explicit peer_scope(char const* name) { lttng_ust_tracepoint(profkit_peer, scope_begin, reinterpret_cast<unsigned long>(name)); }
  ~peer_scope() { lttng_ust_tracepoint(profkit_peer, scope_end); }
  peer_scope(peer_scope const&) = delete;
  peer_scope& operator=(peer_scope const&) = delete;
};

#define PEER_SCOPE(name) peer_scope const this_scope(name)
