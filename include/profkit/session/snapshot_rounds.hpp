// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace profkit::detail {

/// Lets a thread that takes a snapshot wait until what was recorded before is drained. That takes two rounds of draining: the first one
/// asks collectors for what they hold back.
class snapshot_rounds {
 public:
  /// Whether a round is waited for. Draining asks before it looks how far the logs have been written.
  [[nodiscard]] bool are_wanted() const noexcept { return wanted_.load() > 0; }

  /// A round that was wanted when it began has drained all that there was.
  void count_one() noexcept { wanted_.fetch_sub(1); }

  /// On one thread at a time.
  /// @param wait called every millisecond, to have the next round begin; it returns false if none will.
  /// @return whether the rounds were made, within a second.
  template <class Wait>
  [[nodiscard]] bool wait_for_all(Wait&& wait) {
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    wanted_.store(2);
    while (are_wanted()) {
      if (!wait() || std::chrono::steady_clock::now() > deadline) {
        wanted_.store(0);
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
  }

 private:
  std::atomic<int> wanted_{0};
};

}  // namespace profkit::detail
