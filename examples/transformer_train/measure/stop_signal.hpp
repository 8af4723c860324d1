// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>

namespace trainer {

/// Makes Ctrl-C and SIGTERM end an endless loop after its current step instead of ending the program. The second signal ends the program as
/// usual. Only one object can exist at a time.
class stop_signal {
 public:
  /// @param is_wanted false: signals keep their effect, and nothing is ever requested.
  explicit stop_signal(bool is_wanted) : is_wanted_{is_wanted} {
    if (!is_wanted_) return;
    is_requested_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) { is_requested_ = true; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before_[i]);
  }

  ~stop_signal() {
    for (std::size_t i = 0; is_wanted_ && i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }

  stop_signal(stop_signal const&) = delete;
  stop_signal& operator=(stop_signal const&) = delete;

  [[nodiscard]] bool is_requested() const noexcept { return is_wanted_ && is_requested_; }

 private:
  static constexpr std::array signals{SIGINT, SIGTERM};
  static inline std::atomic<bool> is_requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

  bool is_wanted_;
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace trainer
