// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "error.hpp"

namespace profkit::detail {

/// @throws profkit::error that says what is wrong with a file, unless all is right.
inline void check_read(bool is_right, char const* what) {
  if (!is_right) throw error{std::string{"the file is damaged: "} + what};
}

}  // namespace profkit::detail
