/* SPDX-License-Identifier: Apache-2.0 */
/* Instantiates the code that LTTng-UST generates for the two tracepoints. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"
