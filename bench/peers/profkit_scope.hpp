// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <profkit/scope.hpp>

#define PEER_SCOPE(name) PROF_SCOPE(name)
