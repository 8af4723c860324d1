// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace profkit::detail {

/// `pthread_setcancelstate`, without <pthread.h>, which would take 5 ms more to compile in each file with scopes.
int set_cancel_state(int wanted, int* before) __asm__("pthread_setcancelstate");

/// To the end of the block, `pthread_cancel` does not end this thread; a request stays pending until the program's next cancellation point.
///
/// The library makes system calls in `noexcept` functions and destructors, which a cancelled thread cannot leave by unwinding: it would
/// abort. A thread that uses PTHREAD_CANCEL_ASYNCHRONOUS inside scopes or session calls is not supported, as in all of the C++ library.
class no_cancellation {
 public:
  no_cancellation() noexcept { static_cast<void>(set_cancel_state(disabled, &before_)); }
  ~no_cancellation() { static_cast<void>(set_cancel_state(before_, nullptr)); }
  no_cancellation(no_cancellation const&) = delete;
  no_cancellation& operator=(no_cancellation const&) = delete;

 private:
  static constexpr int disabled = 1;  ///< PTHREAD_CANCEL_DISABLE of all C libraries for Linux

  int before_ = 0;
};

}  // namespace profkit::detail
