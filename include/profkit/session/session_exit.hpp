// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>

#include "session_thread.hpp"

namespace profkit::detail {

/// The interface of a session for the end of the process.
class ends_with_process {
 public:
  /// Called when the program calls `exit`, on the calling thread, while other threads continue. Also called in the child of a `fork`.
  virtual void end_at_exit() noexcept = 0;
  /// Whether the calling process is the child of a `fork` and the session belongs to the parent.
  [[nodiscard]] virtual bool is_of_parent() const noexcept = 0;

 protected:
  ~ends_with_process() = default;
};

/// Ends the running session when the program calls `exit` or returns from `main` before destroying it. Has no effect for `_exit`,
/// `quick_exit`, `abort` and `exec`.
class session_exit {
 public:
  /// Registers the session. To be called when the session starts and after each collector started: exit handlers run in reverse order of
  /// registration, so this one runs before the handlers of a driver that a collector initialised.
  static void watch(ends_with_process& session) {
    {
      std::lock_guard<std::mutex> const lock{now().mutex};
      now().running.store(&session);
    }
    static_cast<void>(std::atexit(end_running));
  }

  /// Unregisters the session. Waits for a handler that is using it.
  static void forget(ends_with_process const& session) noexcept {
    std::lock_guard<std::mutex> const lock{now().mutex};
    if (now().running.load() == &session) now().running.store(nullptr);
  }

  /// Whether `exit` has begun, which also destroys sessions in static memory.
  [[nodiscard]] static bool has_begun() noexcept { return now().has_begun.load(); }

 private:
  struct state {
    std::mutex mutex;
    std::atomic<ends_with_process*> running{nullptr};
    std::atomic<bool> has_begun{false};
  };

  static state& now() noexcept {
    static state value;
    return value;
  }

  static void end_running() noexcept {
    ends_with_process* const running = now().running.load();
    if (running == nullptr) return;
    if (running->is_of_parent()) {  // in a child the mutex may stay locked forever
      now().running.store(nullptr);
      return running->end_at_exit();
    }
    now().has_begun.store(true);
    std::lock_guard<std::mutex> const lock{now().mutex};
    if (now().running.load() == running) running->end_at_exit();
    now().running.store(nullptr);
  }
};

/// Handles SIGINT and SIGTERM with the option `signals=report`, unless the program has its own handlers. The handler wakes the session's
/// thread, which writes the report and then lets the signal end the process. A second signal ends the process immediately.
class session_signals {
 public:
  /// Installs the handler for signals with the default action.
  static void install() noexcept {
    process() = ::getpid();
    received() = 0;
    for (int const signal : signals) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) != 0 || !is_default(action)) continue;
      action = {};
      action.sa_handler = handle;
      action.sa_flags = SA_RESTART;
      ::sigaction(signal, &action, nullptr);
    }
  }

  /// Restores the default actions.
  static void remove() noexcept {
    for (int const signal : signals) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handle) {
        static_cast<void>(std::signal(signal, SIG_DFL));
      }
    }
  }

  /// The received signal; 0 if there was none.
  [[nodiscard]] static int received_signal() noexcept { return received().load(std::memory_order_relaxed); }

  /// Ends the process by a signal with its default action.
  [[noreturn]] static void end_process(int signal) noexcept {
    static_cast<void>(std::signal(signal, SIG_DFL));
    sigset_t only{};
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    static_cast<void>(::raise(signal));
    constexpr int signal_exit_base = 128;
    ::_exit(signal_exit_base + signal);  // the default action does not end the first process of a container
  }

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM};

  static bool is_default(struct sigaction const& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  }

  // Constant-initialised, because the handler reads them.
  static std::atomic<int>& received() noexcept {
    static std::atomic<int> value{0};
    return value;
  }
  static std::atomic<pid_t>& process() noexcept {
    static std::atomic<pid_t> value{0};
    return value;
  }

  /// Calls async-signal-safe functions only.
  static void handle(int signal) {
    int const before = errno;
    for (int const each : signals) {
      struct sigaction action {};
      if (::sigaction(each, nullptr, &action) != 0 || action.sa_handler != handle) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(each, &action, nullptr);
    }
    if (::getpid() == process()) {
      received() = signal;
      session_thread::wake();
    } else {
      static_cast<void>(::raise(signal));  // the child of a fork has no such thread: delivered when this handler returns
    }
    errno = before;
  }
};

}  // namespace profkit::detail
