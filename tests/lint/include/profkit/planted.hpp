// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// It takes a copy that it does not need.
inline std::string planted(std::string of) { return of.empty() ? "" : "planted"; }
