// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

namespace profkit::detail {

/// During its lifetime, `pthread_cancel` does not end this thread. A request made meanwhile has its effect at the next cancellation point
/// of the program.
class no_cancellation {
 public:
  no_cancellation() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  no_cancellation(no_cancellation const&) = delete;
  no_cancellation& operator=(no_cancellation const&) = delete;
  ~no_cancellation() { ::pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace profkit::detail
