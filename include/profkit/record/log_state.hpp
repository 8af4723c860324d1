// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace profkit::detail {

/// `thread_log::state`
enum log_state : std::uint32_t {
  log_free = 0,     ///< the reader has read it to its end; any new thread may take it
  log_owned = 1,    ///< a thread writes to it, and its `thread_system_id` and `generation` are those of this thread
  log_left = 2,     ///< its thread has ended; the reader still has to read it
  log_retired = 3,  ///< never used again
  log_taken = 4,    ///< a thread is about to own it
};

}  // namespace profkit::detail
