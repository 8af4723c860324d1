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

/// A session, as the end of the process sees it.
class ends_with_process {
 public:
  /// The program calls `exit`, on any thread; others go on. Also called in the child of a `fork`.
  virtual void end_at_exit() noexcept = 0;
  /// Whether this is the child of a `fork`, to which it does not belong.
  [[nodiscard]] virtual bool is_of_parent() const noexcept = 0;

 protected:
  ~ends_with_process() = default;
};

/// Ends the running session when the program calls `exit` or returns from `main` without having destroyed it. `_exit`, `quick_exit`,
/// `abort` and `exec` do not come here.
class session_exit {
 public:
  /// To be called when the session starts, and again when a collector has: handlers run in the reverse order of their registration, so this
  /// one runs before that of a driver which the collector initialised.
  static void watch(ends_with_process& session) {
    {
      std::lock_guard<std::mutex> const lock{now().mutex};
      now().running.store(&session);
    }
    static_cast<void>(std::atexit(end_running));
  }

  /// The session has ended. Waits for a handler that is at work with it.
  static void forget(ends_with_process const& session) noexcept {
    std::lock_guard<std::mutex> const lock{now().mutex};
    if (now().running.load() == &session) now().running.store(nullptr);
  }

  /// Whether the program is ending by `exit`, which a session in static memory is destroyed by.
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
    if (running->is_of_parent()) {  // in a child the mutex may be locked for ever
      now().running.store(nullptr);
      return running->end_at_exit();
    }
    now().has_begun.store(true);
    std::lock_guard<std::mutex> const lock{now().mutex};
    if (now().running.load() == running) running->end_at_exit();
    now().running.store(nullptr);
  }
};

/// SIGINT and SIGTERM, where the option says that they give a report and the program has no handler of its own. The handler wakes the
/// session's thread, which makes the report and then lets the signal end the process. A second signal ends it at once.
class session_signals {
 public:
  /// Takes the signals whose action is the default.
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

  /// Gives them back.
  static void remove() noexcept {
    for (int const signal : signals) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handle) {
        static_cast<void>(std::signal(signal, SIG_DFL));
      }
    }
  }

  /// The signal that came; 0: none did.
  [[nodiscard]] static int received_signal() noexcept { return received().load(std::memory_order_relaxed); }

  /// Ends the process by a signal, as if nothing had handled it.
  [[noreturn]] static void end_process(int signal) noexcept {
    static_cast<void>(std::signal(signal, SIG_DFL));
    sigset_t only{};
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    static_cast<void>(::raise(signal));
    constexpr int as_shells_do = 128;
    ::_exit(as_shells_do + signal);  // the first process of a container does not die by the default action
  }

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM};

  static bool is_default(struct sigaction const& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  }

  // Constant initialised: the handler may read them.
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
      static_cast<void>(::raise(signal));  // the child of a fork, which has no such thread: delivered when this handler returns
    }
    errno = before;
  }
};

}  // namespace profkit::detail
