// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The options of a session, and the environment variable `PROFKIT`.

#include "session/plain_options.hpp"

#ifndef PROFKIT_CODE_ELSEWHERE
#include "session/make_options.hpp"  // IWYU pragma: export
#endif
