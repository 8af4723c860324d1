// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "profile.hpp"

namespace profkit {

/// @brief The content of a journal.
struct journal_content {
  profile content;                   ///< the recorded data
  bool is_complete = false;          ///< the session ended, and the file is complete
  std::uint64_t bytes_left_out = 0;  ///< bytes after the last complete frame
};

}  // namespace profkit
