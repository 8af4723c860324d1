// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

namespace profkit::detail {

/// Makes writes on this thread fail with `errno` instead of ending the program by a signal: SIGPIPE (the reader of a pipe is gone) and
/// SIGXFSZ (the file would exceed `ulimit -f`). Blocks both signals during its lifetime and discards the ones that writes raised.
class write_signals_blocked {
 public:
  write_signals_blocked() noexcept {
    sigset_t pending{};
    sigset_t blocked{};
    ::sigpending(&pending);
    ::sigemptyset(&blocked);
    for (std::size_t i = 0; i < signals.size(); ++i) {
      was_pending_[i] = ::sigismember(&pending, signals[i]) == 1;
      ::sigaddset(&blocked, signals[i]);
    }
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }

  write_signals_blocked(write_signals_blocked const&) = delete;
  write_signals_blocked& operator=(write_signals_blocked const&) = delete;

  /// Preserves `errno`.
  ~write_signals_blocked() {
    int const error = errno;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (!was_pending_[i]) discard(signals[i]);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  static constexpr std::array signals{SIGPIPE, SIGXFSZ};

  static void discard(int signal) noexcept {
    sigset_t one{};
    ::sigemptyset(&one);
    ::sigaddset(&one, signal);
    timespec const now{};
    while (::sigtimedwait(&one, nullptr, &now) == signal || errno == EINTR) {
    }
  }

  sigset_t before_{};
  std::array<bool, signals.size()> was_pending_{};
};

}  // namespace profkit::detail
