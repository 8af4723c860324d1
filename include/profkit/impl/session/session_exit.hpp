// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "../collect/collector_list.hpp"
#include "../record/process_identity.hpp"
#include "console.hpp"
#include "session_owner.hpp"

namespace PROFKIT_NAMESPACE::detail {

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
  /// Held while a session ends and writes its outputs.
  [[nodiscard]] static ordered_mutex& mutex() noexcept { return now().mutex; }

  /// Registers the running session.
  static void watch(ends_with_process& session) noexcept {
    now().process.store(identify_process());
    now().running.store(&session);
    run_before_later_handlers();
  }

  /// Exit handlers run in reverse order of registration. To be called when something registered a handler that must run later, such as a
  /// driver that a collector initialised.
  static void run_before_later_handlers() noexcept { static_cast<void>(std::atexit(end_running)); }

  /// Unregisters the session. To be called with the mutex.
  static void forget(ends_with_process const& session) noexcept {
    if (now().running.load() == &session) now().running.store(nullptr);
  }

  /// Whether `exit` has begun, which also destroys sessions in static memory.
  [[nodiscard]] static bool has_begun() noexcept { return now().has_begun.load(); }

 private:
  struct state {
    ordered_mutex mutex{lock_order::ending};
    std::atomic<ends_with_process*> running{nullptr};
    std::atomic<bool> has_begun{false};
    std::atomic<std::uint64_t> process{0};
  };

  /// Never destroyed, because other threads may use it until the process ends.
  static state& now() noexcept {
    alignas(state) static unsigned char memory[sizeof(state)];
    static auto* const value = new (memory) state;
    return *value;
  }

  static void end_running() noexcept {
    ends_with_process* const running = now().running.load();
    if (running == nullptr) return;
    if (!is_process(now().process.load())) {  // in a child the mutex may stay locked forever
      now().running.store(nullptr);
      return running->end_at_exit();
    }
    bool const is_first = !now().has_begun.exchange(true);
    if (called_collector::is_on_this_thread() || ordered_mutex::is_any_held())
      return is_first ? warn("no report: exit() was called by a collector, or while profkit wrote a report") : void();
    ordered_lock const ending{mutex()};
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
    process() = identify_process();
    received() = 0;
    for (int const signal : ending_signals) {
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
    for (int const signal : ending_signals) {
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
  static constexpr int ending_signals[] = {SIGINT, SIGTERM};

  static bool is_default(struct sigaction const& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  }

  // Constant-initialised, because the handler reads them.
  static std::atomic<int>& received() noexcept {
    static std::atomic<int> value{0};
    return value;
  }
  static std::atomic<std::uint64_t>& process() noexcept {
    static std::atomic<std::uint64_t> value{0};
    return value;
  }

  /// Calls async-signal-safe functions only.
  static void handle(int signal) {
    int const before = errno;
    for (int const each : ending_signals) {
      struct sigaction action {};
      if (::sigaction(each, nullptr, &action) != 0 || action.sa_handler != handle) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(each, &action, nullptr);
    }
    if (is_process(process())) {
      received() = signal;
      session_owner::wake();
    } else {
      static_cast<void>(::raise(signal));  // the child of a fork has no such thread: delivered when this handler returns
    }
    errno = before;
  }
};

}  // namespace PROFKIT_NAMESPACE::detail
