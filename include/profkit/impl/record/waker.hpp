// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>

namespace profkit::detail {

/// Lets one thread wait and other threads wake it. Uses a futex, which has no file descriptor that the program could close, and whose clock
/// is monotonic.
class waker {
 public:
  /// Wakes the waiting thread. May be called on any thread and in a signal handler. If no thread waits, the next wait returns at once.
  void wake() noexcept {
    __atomic_store_n(&is_woken_, 1U, __ATOMIC_RELEASE);
    ::syscall(SYS_futex, &is_woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// Waits until `wake` is called, or until the time has passed.
  void wait(std::chrono::nanoseconds longest) noexcept {
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    timespec timeout{};
    timeout.tv_sec = seconds.count();
    timeout.tv_nsec = (longest - seconds).count();
    if (__atomic_load_n(&is_woken_, __ATOMIC_ACQUIRE) == 0) ::syscall(SYS_futex, &is_woken_, FUTEX_WAIT_PRIVATE, 0U, &timeout, nullptr, 0);
    __atomic_store_n(&is_woken_, 0U, __ATOMIC_RELAXED);
  }

 private:
  std::uint32_t is_woken_ = 0;
};

}  // namespace profkit::detail
