// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "../../error.hpp"

namespace profkit::detail {

/// @throws profkit::error with `what` unless the condition holds.
inline void check_read(bool is_right, char const* what) {
  if (!is_right) throw error{std::string{"the file is damaged: "} + what};
}

}  // namespace profkit::detail
