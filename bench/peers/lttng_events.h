// SPDX-License-Identifier: Apache-2.0
//
// LTTng-UST reads this file several times, which is why it has no `#pragma once`.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER profkit_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(PROFKIT_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PROFKIT_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(profkit_peer, scope_begin, LTTNG_UST_TP_ARGS(unsigned long, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(unsigned long, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(profkit_peer, scope_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
