// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "../record/own_thread.hpp"
#include "../record/waker.hpp"

namespace profkit::detail {

/// The only thread of a running session. It drains, writes the journal if there is one, and creates the report if a signal ends the
/// program. While nothing is recorded, it wakes 40 times a second.
///
/// Started and stopped by one thread at a time.
class session_thread {
 public:
  /// A round of work. Returns the pause before the next round.
  using round = std::function<std::chrono::nanoseconds()>;

  session_thread() = default;
  session_thread(session_thread const&) = delete;
  session_thread& operator=(session_thread const&) = delete;
  ~session_thread() { static_cast<void>(stop(std::chrono::hours{1})); }

  /// Starts the thread. If the system cannot create one, `failure` states why, and the step thread has to drain.
  void start(round work) {
    work_ = std::move(work);
    try {
      thread_ = std::make_unique<own_thread>("profkit", [this] { run(); });
    } catch (std::exception const& reason) {
      failure_ = reason.what();
    }
  }

  /// Ends the thread after its current pause or round; a round should call `is_stopping` from time to time. If it is called on the thread
  /// itself, the thread ends after this round.
  /// @return whether the thread has ended or is the caller; false if a collector of the program or a write takes longer than `timeout`.
  bool stop(std::chrono::nanoseconds timeout) noexcept {
    is_stopping_.store(true);
    wake();
    if (thread_ == nullptr || is_current()) return true;
    auto const deadline = std::chrono::steady_clock::now() + timeout;
    while (!has_ended_.load()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      ended_.wait(std::chrono::milliseconds{10});
    }
    thread_->join();
    thread_.reset();
    return true;
  }

  /// Starts the next round immediately. May be called on any thread, and in a signal handler at any time.
  static void wake() noexcept { wakes().wake(); }

  /// Whether the caller runs on this thread.
  [[nodiscard]] static bool is_current() noexcept { return is_this_thread(); }

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_.load(std::memory_order_relaxed); }

  /// Why the thread could not be started; empty if it was started.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

 private:
  /// Shared by consecutive sessions, because a signal handler may use it while a session ends.
  static waker& wakes() noexcept {
    static waker value;
    return value;
  }

  static bool& is_this_thread() noexcept {
    static thread_local bool value = false;
    return value;
  }

  void run() {
    is_this_thread() = true;
    while (!is_stopping_.load()) wakes().wait(work_());
    has_ended_.store(true);
    ended_.wake();
  }

  round work_;
  std::unique_ptr<own_thread> thread_;
  std::string failure_;
  waker ended_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_ended_{false};
};

}  // namespace profkit::detail
