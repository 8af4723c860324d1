// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <perfetto.h>

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("peer"));

#define PEER_SCOPE(name) TRACE_EVENT("peer", name)
