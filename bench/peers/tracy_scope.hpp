// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tracy/Tracy.hpp>

#define PEER_SCOPE(name) ZoneScopedN(name)
