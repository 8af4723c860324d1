// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The options of a session, and the environment variable `PROFKIT`.

#include "session/plain_options.hpp"
