// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace profkit::detail {

/// Lets a thread wait until everything recorded before a snapshot is drained. That takes two rounds: the first one requests data that
/// collectors hold back.
class snapshot_rounds {
 public:
  /// Whether a thread waits for a round. Called before the read positions of the logs are determined.
  [[nodiscard]] bool are_wanted() const noexcept { return wanted_.load() > 0; }

  /// To be called after a complete round that was wanted when it began.
  void count_one() noexcept { wanted_.fetch_sub(1); }

  /// Waits for two rounds. One thread at a time.
  /// @param wait called every millisecond to start the next round; returns false if there will be none.
  /// @return whether both rounds ran within a second.
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
