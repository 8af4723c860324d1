// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caliper/cali.h>

#define PEER_SCOPE(name) CALI_CXX_MARK_SCOPE(name)
